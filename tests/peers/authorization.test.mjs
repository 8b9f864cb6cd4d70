// Servers that want their users to sign in: a real authorization server, real pages, the official SDK behind and in front,
// and mcpivot between them.
//   MCPIVOT=path/to/mcpivot node --test authorization.test.mjs
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, test } from 'node:test';
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

describe('once for all', () => {
  test('five processes with fifty requests register, ask and refresh once, and no call fails', async () => {
    await start();
    const clients = await Promise.all(Array.from({ length: 5 }, () => home.client('--url', server.url)));
    await Promise.all(clients.map(has_echo));
    const all = () => Promise.all(clients.flatMap((client) => Array.from({ length: 10 }, (_, i) => echo(client, `call ${i}`))));
    for (const { isError, text } of await all()) assert.ok(!isError && /echo: call/.test(text), text);
    assert.equal(home.tabs.length, 1);
    assert.deepEqual(issuer.counts, { registrations: 1, authorizations: 1, refreshes: 0, failed_refreshes: 0, tokens: 1 });
    issuer.expire_tokens();
    for (const { isError, text } of await all()) assert.ok(!isError && /echo: call/.test(text), text);
    assert.deepEqual(issuer.counts, { registrations: 1, authorizations: 1, refreshes: 1, failed_refreshes: 0, tokens: 2 });
  });

  test('a sign-in that was withdrawn is asked for once, with the same registration', async () => {
    await start();
    const client = await home.client('--url', server.url);
    await has_echo(client);
    await issuer.revoke_all();
    const answers = await Promise.all(Array.from({ length: 10 }, (_, i) => echo(client, `call ${i}`)));
    for (const { isError, text } of answers) assert.ok(!isError, text);
    assert.equal(home.tabs.length, 2);
    assert.equal(issuer.counts.registrations, 1);
    assert.equal(issuer.counts.failed_refreshes, 1);
  });
});

describe('without a browser', () => {
  const login = (...more) =>
    home.run(['login', server.url, ...more], (printed) => {
      const [, url] = /^ {2}(http\S+)$/m.exec(printed) ?? [];
      return url && sign_in(url, 'ada', true).then((page) => String(page.url));
    });

  test('the call says what to open, and a pasted redirect signs in the one that runs', async () => {
    await start({ browses: false });
    const client = await home.client('--url', server.url);
    const { isError, text } = await echo(client, 'too early');
    assert.ok(isError);
    assert.match(text, /wants you to sign in: open http\S+ in a browser \(or run `mcpivot login http\S+`\), then call again/);
    const { code, out } = await login();
    assert.equal(code, 0, out);
    assert.match(out, /signed in at http/);
    await has_echo(client);
    assert.match((await echo(client, 'now')).text, /echo: now/);
    assert.equal(issuer.counts.authorizations, 1);
  });

  test('login and logout need no running mcpivot', async () => {
    await start({ browses: false });
    const { code, out } = await login('--no-browser');
    assert.equal(code, 0, out);
    const client = await home.client('--url', server.url);
    await has_echo(client);
    const gone = await home.run(['logout', server.url]);
    assert.equal(gone.code, 0, gone.out);
    assert.doesNotMatch(readFileSync(home.record(), 'utf8'), new RegExp([...issuer.secrets].join('|')));
  });
});

test('a configured Authorization header wins: no sign-in starts', async () => {
  await start();
  const client = await home.client('--url', server.url, '--header', 'Authorization: Bearer wrong');
  const { isError, text } = await echo(client, 'hello');
  assert.ok(isError);
  assert.match(text, /401/);
  assert.equal(home.tabs.length, 0);
  assert.equal(issuer.counts.registrations, 0);
});

test('more scope is asked for when a tool needs it', async () => {
  await start({ scopes_of: (tool) => (tool === 'write' ? ['mcp:write'] : []) });
  const client = await home.client('--url', server.url);
  await has_echo(client);
  assert.match((await echo(client, 'x', 'write')).text, /write: x/);
  assert.equal(home.tabs.length, 2);
  assert.match(home.tabs[1], /scope=mcp%3Aread%20mcp%3Awrite/);
});

test('metadata that names a link-local address is not followed', async () => {
  await start();
  server.metadata.authorization_servers = ['https://169.254.169.254'];
  const client = await home.client('--url', server.url);
  const { isError, text } = await echo(client, 'hello');
  assert.ok(isError);
  assert.match(text, /169\.254\.169\.254: it is a link-local address/);
  assert.equal(home.tabs.length, 0);
});

test('under serve a client sees no address, and the operator signs in', async () => {
  await start({ browses: false });
  const gate = spawn(mcpivot, ['serve', '--listen', '127.0.0.1:0', '--url', server.url], { env: home.env, stdio: ['ignore', 'ignore', 'pipe'] });
  try {
    let said = '';
    gate.stderr.setEncoding('utf8').on('data', (text) => (said += text));
    const url = await eventually(() => /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(said)?.[0], 'it listens');
    const client = new Client({ name: 'a-client', version: '1' }, { capabilities: {} });
    const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    const { isError, text } = await echo(client, 'hello');
    assert.ok(isError);
    assert.match(text, /mcpivot login/);
    assert.doesNotMatch(text, /state=|code_challenge/);
    assert.equal(issuer.counts.registrations, 0);
    await client.close();
  } finally {
    gate.kill('SIGKILL');
    await once(gate, 'close');
  }
});

test('no token is anywhere but in its file', async () => {
  await start();
  const client = await home.client('--url', server.url, '--log-level', 'trace');
  await has_echo(client);
  issuer.expire_tokens();
  const { text } = await echo(client, 'hello');
  const status = text_of(await client.callTool({ name: 'pivot_status', arguments: {} }));
  assert.match(status, /signed in/);
  assert.ok(issuer.secrets.size >= 4);
  const record = home.record();
  for (const secret of issuer.secrets) {
    for (const seen of [text, status, home.printed]) assert.ok(!seen.includes(secret), 'a token was shown');
    for (const file of home.files())
      if (file !== record) assert.ok(!readFileSync(file, 'utf8').includes(secret), `there is a token in ${file}`);
  }
});
