// Servers that want their users to sign in: a real authorization server, real pages, the official SDK behind and in front,
// and mcpivot between them.
//   MCPIVOT=path/to/mcpivot node --test authorization.test.mjs
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, beforeEach, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { sign_in } from './lib/browser.mjs';
import { eventually } from './lib/place.mjs';
import { Issuer, ProtectedServer } from './lib/protected-server.mjs';

const mcpivot = process.env.MCPIVOT;
const browser = fileURLToPath(new URL('lib/browser.mjs', import.meta.url));

/** A user's home, with a browser or without, and what runs in it. */
class Home {
  root = mkdtempSync(join(tmpdir(), 'mcpivot-signin-'));
  clients = [];
  printed = '';

  constructor({ browses = true } = {}) {
    mkdirSync(join(this.root, 'run'), { mode: 0o700 });
    const script = join(this.root, 'browser');
    writeFileSync(script, `#!/bin/sh\nexec ${process.execPath} ${browser} "$1"\n`);
    chmodSync(script, 0o755);
    this.env = {
      PATH: process.env.PATH,
      HOME: this.root,
      XDG_RUNTIME_DIR: join(this.root, 'run'),
      LC_ALL: 'C.UTF-8',
      BROWSER: browses ? script : 'none',
      BROWSER_LOG: join(this.root, 'tabs'),
      BROWSER_USER: 'ada',
      ...(process.env.ASAN_OPTIONS ? { ASAN_OPTIONS: process.env.ASAN_OPTIONS } : {}),
    };
  }
  /** The addresses that were opened in the browser. */
  get tabs() {
    const file = join(this.root, 'tabs');
    return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  }
  async client(...args) {
    const client = new Client({ name: 'a-client', version: '1' }, { capabilities: {} });
    const transport = new StdioClientTransport({ command: mcpivot, args, env: this.env, stderr: 'pipe' });
    transport.stderr.on('data', (text) => (this.printed += text));
    await client.connect(transport);
    this.clients.push(client);
    return client;
  }
  /** A command of mcpivot's, and what it printed; `input` may be a function of what it prints. */
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
  record() {
    return this.files().find((file) => /oauth\/[0-9a-f]+\.json$/.test(file));
  }
  async leave() {
    for (const client of this.clients) await client.close();
    rmSync(this.root, { recursive: true, force: true, maxRetries: 5 });
  }
}

let issuer, server, home;
const start = async ({ browses, ...options } = {}) => {
  issuer = await Issuer.start(options);
  server = await ProtectedServer.start(issuer, options);
  home = new Home({ browses });
};
afterEach(async () => {
  await home?.leave();
  await server?.stop();
  await issuer?.stop();
  home = server = issuer = undefined;
});

const text_of = ({ content = [] }) => content.map(({ text }) => text).join('\n');
const echo = async (client, text, name = 'echo') => {
  const result = await client.callTool({ name, arguments: { text } }, undefined, { timeout: 60_000 }).catch(({ message }) => ({
    isError: true,
    content: [{ text: message }],
  }));
  return { ...result, text: text_of(result) };
};
const has_echo = (client) =>
  eventually(async () => (await client.listTools()).tools.some(({ name }) => name === 'echo'), 'the server offers its tools');

describe('signing in', () => {
  test('a server that says 401 opens the browser, and the call is answered', async () => {
    await start();
    const client = await home.client('--url', server.url);
    await has_echo(client);
    assert.match((await echo(client, 'hello')).text, /echo: hello/);
    assert.deepEqual(home.tabs.length, 1);
    assert.equal(issuer.counts.registrations, 1);
    assert.equal(issuer.counts.authorizations, 1);
    const { mode } = statSync(home.record());
    assert.equal(mode & 0o777, 0o600);
  });
});
