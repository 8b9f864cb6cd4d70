// For tests of signing in: an authorization server, a server that accepts only its tokens, and a user's home, with a
// browser or without, in which mcpivots run.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { eventually } from './place.mjs';
import { Issuer, ProtectedServer } from './protected-server.mjs';

export const mcpivot = process.env.MCPIVOT;
const browser = fileURLToPath(new URL('browser.mjs', import.meta.url));

/** A user's home, with a browser or without, and what runs in it. */
export class Home {
  root = mkdtempSync(join(tmpdir(), 'mcpivot-signin-'));
  clients = [];
  printed = '';

  constructor({ browses = true } = {}) {
    mkdirSync(join(this.root, 'run'), { mode: 0o700 });
    this.env = {
      PATH: process.env.PATH,
      HOME: this.root,
      XDG_RUNTIME_DIR: join(this.root, 'run'),
      LC_ALL: 'C.UTF-8',
      BROWSER: 'none',
      BROWSER_LOG: join(this.root, 'tabs'),
      BROWSER_USER: 'ada',
      ...(process.env.ASAN_OPTIONS ? { ASAN_OPTIONS: process.env.ASAN_OPTIONS } : {}),
    };
    if (browses) this.browse_with(browser);
    this.browses = browses;
  }

  /** The browser is this script, which gets the URL. */
  browse_with(script) {
    this.env.BROWSER = join(this.root, 'browser');
    writeFileSync(this.env.BROWSER, `#!/bin/sh\nexec ${process.execPath} ${script} "$1"\n`);
    chmodSync(this.env.BROWSER, 0o755);
  }
  /** The URLs that were opened in the browser. */
  get tabs() {
    return this.lines('tabs');
  }
  lines(name) {
    const file = join(this.root, name);
    return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  }
  /** The first argument may be what the client can do. */
  async client(...args) {
    const capabilities = typeof args[0] === 'object' ? args.shift() : {};
    const client = new Client({ name: 'a-client', version: '1' }, { capabilities });
    const transport = new StdioClientTransport({ command: mcpivot, args, env: this.env, stderr: 'pipe' });
    transport.stderr.on('data', (text) => (this.printed += text));
    await client.connect(transport);
    this.clients.push(client);
    return client;
  }
  /** One of mcpivot's commands, and what it printed; `input` may be a function of what it prints. */
  async run(args, input) {
    const child = spawn(mcpivot, args, { env: this.env, stdio: ['pipe', 'pipe', 'pipe'] });
    let out = '';
    let written = false;
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', async (text) => {
        out += text;
        const line = !written && input ? input(out) : undefined;
        if (!line) return;
        written = true;
        child.stdin.end(`${await line}\n`);
      });
    if (!input) child.stdin.end();
    const [code] = await once(child, 'close');
    this.printed += out;
    return { code, out };
  }
  files(folder = this.root) {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
  }
  log() {
    return this.files().filter((file) => file.endsWith('.log')).map((file) => readFileSync(file, 'utf8')).join('');
  }
  record() {
    return this.files().find((file) => /oauth\/[0-9a-f]+\.json$/.test(file));
  }
  async leave() {
    for (const client of this.clients) await client.close();
    // Browsers outlive mcpivot, and write here until they are done.
    if (this.browses) await eventually(() => this.lines('tabs.closed').length === this.tabs.length, 'browsers are done');
    rmSync(this.root, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** All of it; `stop` ends it. */
export async function start_all({ browses, ...options } = {}) {
  const issuer = await Issuer.start(options);
  const server = await ProtectedServer.start(issuer, options);
  const home = new Home({ browses });
  const stop = async () => {
    try {
      await home.leave();
    } finally {
      await server.stop();
      await issuer.stop();
    }
  };
  return { issuer, server, home, stop };
}

export const text_of = ({ content = [] }) => content.map(({ text }) => text).join('\n');
export async function echo(client, text, name = 'echo') {
  const result = await client.callTool({ name, arguments: { text } }, undefined, { timeout: 60_000 }).catch(({ message, code, data }) => ({
    isError: true,
    content: [{ text: message }],
    code,
    data,
  }));
  return { ...result, text: text_of(result) };
}
export const has_echo = (client) =>
  eventually(async () => (await client.listTools()).tools.some(({ name }) => name === 'echo'), 'the server offers its tools');
