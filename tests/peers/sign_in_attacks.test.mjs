// Attacks while a user signs in, and what goes wrong in the meantime: against the real program, with a
// real authorization server.
//   MCPIVOT=path/to/mcpivot node --test sign_in_attacks.test.mjs
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { sign_in } from './lib/browser.mjs';
import { eventually } from './lib/place.mjs';
import { echo, has_echo, mcpivot, start_all, text_of } from './lib/signing-in.mjs';

let issuer, server, home, stop;
const more = []; // to be stopped as well
const start = async (options) => ({ issuer, server, home, stop } = await start_all(options));
afterEach(async () => {
  await stop?.();
  for (const one of more.splice(0)) await one();
  issuer = server = home = stop = undefined;
});

/** An attacker that answers like this, and remembers what it was sent. */
async function somebody(answer) {
  const received = [];
  const there = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    received.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)} ${body}`);
    answer(request, response);
  });
  there.listen(0, '127.0.0.1');
  await once(there, 'listening');
  more.push(() => new Promise((done) => (there.closeAllConnections(), there.close(done))));
  return { url: `http://127.0.0.1:${there.address().port}`, received };
}
const json = (response, value) => response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));

/** The URL that a call without a browser says to open. */
async function to_open(client) {
  const { isError, text } = await echo(client, 'too early');
  assert.ok(isError);
  const [, url] = /open (http\S+) in a browser/.exec(text) ?? [];
  assert.ok(url, text);
  return new URL(url);
}
/** As if the user's browser had been sent to the end of this sign-in. */
function come_back(url, fields) {
  const page = new URL(url.searchParams.get('redirect_uri'));
  page.search = new URLSearchParams(fields);
  return fetch(page);
}
const state_of = (url) => url.searchParams.get('state');
const signed_out = () => assert.equal(issuer.counts.tokens, 0);

describe('a visitor at the redirect address', () => {
  test('with another state is rejected, and the user can still sign in', async () => {
    await start({ browses: false });
    const client = await home.client('--url', server.url);
    const url = await to_open(client);
    for (const fields of [{ code: 'x' }, { code: 'x', state: 'x' }, { code: 'x', state: `${state_of(url)}x` }, { error: '<script>', state: '' }]) {
      const page = await come_back(url, fields);
      assert.equal(page.status, 400);
      assert.match(page.headers.get('content-security-policy'), /default-src 'none'/);
      assert.doesNotMatch(await page.text(), /<script>/);
    }
    signed_out();
    await sign_in(url.href);
    await has_echo(client);
    assert.match((await echo(client, 'hello')).text, /echo: hello/);
  });

  test('with a code from another sign-in gets no token', async () => {
    await start({ browses: false });
    const client = await home.client('--url', server.url);
    const url = await to_open(client);
    // The attacker signs in with the same client, and sends the user's browser to us with the code.
    const theirs = new URL(url);
    theirs.searchParams.set('code_challenge', 'A'.repeat(43));
    const { url: end } = await sign_in(theirs.href, 'mallory', true);
    const code = new URL(end).searchParams.get('code');
    assert.ok(code);
    const page = await come_back(url, { code, state: state_of(url), iss: issuer.url });
    assert.equal(page.status, 400);
    assert.match(await page.text(), /invalid_grant/);
    signed_out();
  });

  test("can't use an intercepted code without its verifier", async () => {
    await start({ browses: false });
    const client = await home.client('--url', server.url);
    const url = await to_open(client);
    const { url: end } = await sign_in(url.href, 'ada', true);
    const code = new URL(end).searchParams.get('code');
    for (const code_verifier of [undefined, 'A'.repeat(64)]) {
      const body = new URLSearchParams({
        grant_type: 'authorization_code',
        code,
        client_id: url.searchParams.get('client_id'),
        redirect_uri: url.searchParams.get('redirect_uri'),
        ...(code_verifier && { code_verifier }),
      });
      assert.equal((await fetch(`${issuer.url}/token`, { method: 'POST', body })).status, 400);
    }
    signed_out();
  });

  test('in the name of another issuer is neither trusted nor quoted', async () => {
    await start({ browses: false });
    const evil = await somebody((_, response) => json(response, {}));
    const client = await home.client('--url', server.url);
    const url = await to_open(client);
    const page = await come_back(url, { code: 'x', state: state_of(url), iss: evil.url });
    assert.equal(page.status, 400);
    assert.match(await page.text(), /answered by a different authorization server/);
    const { text } = await echo(client, 'hello');
    assert.match(text, /answered by a different authorization server/);
    assert.doesNotMatch(text, new RegExp(evil.url));
    assert.deepEqual(evil.received, []);
    signed_out();
  });
});

describe('metadata', () => {
  const failure = async () => {
    const client = await home.client('--url', server.url);
    const { isError, text } = await echo(client, 'hello');
    assert.ok(isError);
    assert.equal(home.tabs.length, 0, 'no page was opened');
    assert.equal(issuer.counts.registrations, 0);
    return text;
  };

  test('of an issuer that claims to be another is not used', async () => {
    await start();
    const evil = await somebody((_, response) =>
      json(response, {
        issuer: issuer.url,
        authorization_endpoint: `${evil.url}/auth`,
        token_endpoint: `${evil.url}/token`,
        registration_endpoint: `${evil.url}/reg`,
        code_challenge_methods_supported: ['S256'],
      }),
    );
    server.metadata.authorization_servers = [evil.url];
    assert.match(await failure(), /it speaks for another issuer/);
    assert.ok(evil.received.every((line) => line.startsWith('GET /.well-known/')), evil.received.join('\n'));
  });

  test('of another server is not used', async () => {
    await start();
    server.metadata.resource = 'http://127.0.0.1:1/mcp';
    assert.match(await failure(), /metadata is for another server/);
  });

  for (const [what, page] of Object.entries({
    'a link-local address': 'https://169.254.169.254/latest',
    'one embedded in IPv6': 'https://[::ffff:169.254.169.254]/latest',
  })) {
    test(`that names ${what} for the sign-in page opens nothing`, async () => {
      await start();
      issuer.instead = (request, response) => {
        if (!request.url.startsWith('/.well-known/')) return false;
        json(response, {
          issuer: issuer.url,
          authorization_endpoint: page,
          token_endpoint: `${issuer.url}/token`,
          registration_endpoint: `${issuer.url}/reg`,
          code_challenge_methods_supported: ['S256'],
        });
        return true;
      };
      assert.match(await failure(), /its sign-in page is at \S+, a link-local address/);
    });
  }

  test('that names a link-local address for anything else is not followed', async () => {
    await start();
    server.metadata.authorization_servers = ['https://169.254.169.254'];
    assert.match(await failure(), /169\.254\.169\.254: it is a link-local address/);
  });

  test('of 10 MB is not read completely', async () => {
    await start();
    server.metadata.padding = 'x'.repeat(10_000_000);
    assert.match(await failure(), /larger than 1 MiB/);
  });

  test('behind a redirect is not fetched', async () => {
    await start();
    const elsewhere = await somebody((_, response) => json(response, server.metadata));
    server.instead = (request, response) => {
      if (!request.url.startsWith('/.well-known/')) return false;
      response.writeHead(307, { Location: `${elsewhere.url}/metadata` }).end();
      return true;
    };
    assert.match(await failure(), /redirects \(307\) to \S+, and mcpivot doesn't follow that/);
    assert.deepEqual(elsewhere.received, []);
  });
});

describe('a token', () => {
  test('is not sent along a redirect, nor is a code', async () => {
    await start();
    const thief = await somebody((_, response) => json(response, {}));
    const client = await home.client('--url', server.url);
    await has_echo(client);
    server.instead = (_, response) => response.writeHead(307, { Location: `${thief.url}/mcp` }).end();
    const { isError, text } = await echo(client, 'hello');
    assert.ok(isError);
    assert.match(text, /redirects to http\S+, which is another server/);
    server.instead = undefined;

    await issuer.revoke_all();
    issuer.instead = (request, response) => {
      if (!request.url.startsWith('/token')) return false;
      response.writeHead(307, { Location: `${thief.url}/token` }).end();
      return true;
    };
    assert.ok((await echo(client, 'again')).isError);
    assert.deepEqual(thief.received, []);
  });

  test("appears only in its file: not in logs, journals, notices, status, results or children's environments", async () => {
    await start();
    const seen = join(home.root, 'environment-of-children');
    const child = join(home.root, 'child');
    writeFileSync(child, `#!/bin/sh\nenv >>${seen}\nenv >&2\nexec ${process.execPath} ${new URL('lib/asking-server.mjs', import.meta.url).pathname}\n`);
    chmodSync(child, 0o755);
    home.env.BROWSER = `${home.env.BROWSER}-that-tells`;
    writeFileSync(home.env.BROWSER, `#!/bin/sh\nenv >>${seen}\nexec ${home.env.BROWSER.replace('-that-tells', '')} "$1"\n`);
    chmodSync(home.env.BROWSER, 0o755);
    const config = join(home.root, 'mcpivot.json');
    writeFileSync(
      config,
      JSON.stringify({ mcpServers: { tracker: { url: server.url, active: true }, child: { command: child, active: true } }, journal: true }),
    );
    const client = await home.client('--config', config, '--log-level', 'trace');
    const call = async (text) => (await echo(client, text, 'tracker__echo')).text;
    await eventually(async () => (await client.listTools()).tools.some(({ name }) => name === 'tracker__echo'), 'it is signed in');
    const said = [await call('one')];
    issuer.expire_tokens(); // a refresh
    said.push(await call('two'));
    await issuer.revoke_all(); // a refresh that fails, and a new sign-in
    said.push(await call('three'));
    issuer.down = true; // and one that fails
    issuer.expire_tokens();
    said.push(await call('four'));
    for (const name of ['pivot_status', 'pivot_logs']) said.push(text_of(await client.callTool({ name, arguments: {} })));
    for (const args of [['status', 'tracker'], ['doctor', config], ['journal'], ['journal', 'show', 'last'], ['logs', 'child']])
      said.push((await home.run(args)).out);
    await client.close();
    assert.match(said[2], /echo: three/);
    assert.ok(issuer.secrets.size >= 6, `${issuer.secrets.size} secrets were handed out`);
    assert.match(readFileSync(seen, 'utf8'), /^PATH=/m);
    const record = home.record();
    const files = home.files().filter((file) => file !== record);
    assert.ok(files.some((file) => /journal.*\.(db|sqlite)/.test(file)), `no journal among ${files.join(', ')}`);
    assert.ok(files.some((file) => file.endsWith('.log')), `no log among ${files.join(', ')}`);
    for (const secret of issuer.secrets) {
      for (const text of [...said, home.printed]) assert.ok(!text.includes(secret), 'a token was shown');
      for (const file of files) assert.ok(!readFileSync(file, 'latin1').includes(secret), `there is a token in ${file}`);
    }
  });
});

/** How much it grows while nobody asks for anything. */
async function growth(count, milliseconds = 1500) {
  const before = count();
  await new Promise((later) => setTimeout(later, milliseconds));
  return count() - before;
}

describe('few requests reach', () => {
  test('a server that always answers 401', async () => {
    await start();
    server.rejects = true;
    const client = await home.client('--url', server.url);
    const { text } = await echo(client, 'hello');
    assert.match(text, /rejects the token that its own authorization server has just issued/);
    const before = server.requests.length;
    const asked = issuer.requests.length;
    for (let i = 0; i < 20; ++i) assert.ok((await echo(client, `call ${i}`)).isError);
    const grown = server.requests.length - before;
    assert.ok(grown <= 3 * 20, `${grown} requests for 20 calls`);
    assert.equal(issuer.requests.length, asked, 'the issuer has nothing to do with it');
    assert.equal(home.tabs.length, 1);
    assert.equal(await growth(() => server.requests.length), 0, 'nobody asks, so nobody is asked');
  });

  test('a server that always answers 401, from five processes together', async () => {
    await start();
    server.rejects = true;
    const clients = await Promise.all(Array.from({ length: 5 }, () => home.client('--url', server.url)));
    for (let i = 0; i < 3; ++i)
      for (const { text } of await Promise.all(clients.map((client) => echo(client, `call ${i}`))))
        assert.match(text, /rejects the token that its own authorization server has just issued/);
    assert.deepEqual(issuer.counts, { registrations: 1, authorizations: 1, refreshes: 0, failed_refreshes: 0, tokens: 1 });
    assert.equal(home.tabs.length, 1);
    server.rejects = false;
    for (const client of clients) assert.match((await echo(client, 'hello')).text, /echo: hello/);
    issuer.expire_tokens();
    for (const client of clients) assert.match((await echo(client, 'again')).text, /echo: again/);
    assert.equal(issuer.counts.refreshes, 1);
  });

  test('an authorization server that is down', async () => {
    await start();
    const client = await home.client('--url', server.url);
    await has_echo(client);
    issuer.down = true;
    issuer.expire_tokens();
    const before = issuer.requests.length;
    for (let i = 0; i < 5; ++i)
      for (const { isError, text } of await Promise.all(Array.from({ length: 10 }, (_, n) => echo(client, `call ${n}`)))) {
        assert.ok(isError);
        assert.match(text, /503|can't be refreshed/);
      }
    const grown = issuer.requests.length - before;
    assert.ok(grown <= 6, `${grown} requests to the issuer for 50 calls`);
    assert.equal(await growth(() => issuer.requests.length), 0, 'nobody asks, so nobody is asked');
    assert.equal(home.tabs.length, 1);
    issuer.down = false;
    await eventually(async () => !(await echo(client, 'hello')).isError, 'it works again');
    assert.equal(home.tabs.length, 1, 'the sign-in was not lost');
    assert.equal(issuer.counts.refreshes, 1);
  });
});

describe('while a user signs in', () => {
  test('mcpivot is killed: the next call asks again, with the same registration', async () => {
    await start({ browses: false });
    const first = await home.client('--url', server.url);
    const url = await to_open(first);
    const second = await home.client('--url', server.url);
    assert.equal((await to_open(second)).href, url.href, 'the second one names the same page');
    process.kill(first.transport.pid, 'SIGKILL');
    const again = await eventually(async () => {
      const now = await to_open(second);
      return state_of(now) !== state_of(url) && now;
    }, 'the second one asks');
    await sign_in(again.href);
    await has_echo(second);
    assert.match((await echo(second, 'hello')).text, /echo: hello/);
    assert.equal(issuer.counts.registrations, 1);
    assert.equal(issuer.counts.tokens, 1);
  });

  test('in two windows: both show the same page, and both are signed in', async () => {
    await start({ browses: false });
    const shown = [];
    const login = (pastes) =>
      home.run(['login', server.url], (printed) => {
        const [, url] = /^ {2}(http\S+)$/m.exec(printed) ?? [];
        if (!url) return undefined;
        shown.push(url);
        return pastes ? eventually(() => shown.length === 2, 'both show it').then(() => sign_in(url, 'ada', true)).then((page) => String(page.url)) : new Promise(() => {});
      });
    const first = login(false);
    await eventually(() => shown.length === 1, 'the first one shows it');
    const second = login(true);
    for (const { code, out } of await Promise.all([first, second])) assert.equal(code, 0, out);
    assert.equal(shown[0], shown[1]);
    assert.equal(issuer.counts.authorizations, 1);
  });

  test('the server is removed from the configuration: no call waits for it any more', async () => {
    await start({ browses: false });
    const config = join(home.root, 'mcpivot.json');
    const write = (servers) => writeFileSync(config, JSON.stringify({ mcpServers: servers }));
    write({ tracker: { url: server.url, active: true } });
    const client = await home.client('--config', config);
    const url = await to_open(client);
    const { port } = new URL(url.searchParams.get('redirect_uri'));
    write({});
    const listens = () =>
      new Promise((done) => {
        const socket = connect(port, '127.0.0.1', () => (socket.destroy(), done(true))).on('error', () => done(false));
      });
    await eventually(async () => !(await listens()), 'the redirect address is closed');
    assert.match(text_of(await client.callTool({ name: 'pivot_status', arguments: {} })), /./);
    // And the turn is free again.
    const { code, out } = await home.run(['login', server.url], (printed) => {
      const [, page] = /^ {2}(http\S+)$/m.exec(printed) ?? [];
      return page && sign_in(page, 'ada', true).then((end) => String(end.url));
    });
    assert.equal(code, 0, out);
  });

  test('its entry in the configuration changes: the waiting call uses the new sign-in', async () => {
    await start(); // with a browser that shows the page to nobody
    writeFileSync(home.env.BROWSER, '#!/bin/sh\n');
    const config = join(home.root, 'mcpivot.json');
    const write = (oauth) => writeFileSync(config, JSON.stringify({ mcpServers: { tracker: { url: server.url, oauth } } }));
    write({ scopes: 'mcp:read' });
    const client = await home.client('--config', config);
    const call = echo(client, 'hello');
    await eventually(() => issuer.counts.registrations === 1, 'it is being signed in to');
    write({ scopes: 'mcp:read mcp:write' });
    assert.match((await call).text, /scope=mcp%3Aread%20mcp%3Awrite/);
  });

  test('under serve, the operator: clients are not shown the page', async () => {
    await start({ browses: false });
    let shown;
    const login = spawn(mcpivot, ['login', server.url], { env: home.env, stdio: ['pipe', 'pipe', 'inherit'] });
    more.push(async () => (login.exitCode ?? login.signalCode) ?? (login.kill('SIGKILL'), await once(login, 'close')));
    login.stdout.setEncoding('utf8').on('data', (text) => (shown ??= /^ {2}(http\S+)$/m.exec(text)?.[1]));
    await eventually(() => shown, 'it shows the page');
    const gate = spawn(mcpivot, ['serve', '--listen', '127.0.0.1:0', '--url', server.url], { env: home.env, stdio: ['ignore', 'ignore', 'pipe'] });
    more.push(async () => (gate.kill('SIGKILL'), await once(gate, 'close')));
    let said = '';
    gate.stderr.setEncoding('utf8').on('data', (text) => (said += text));
    const url = await eventually(() => /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(said)?.[0], 'it listens');
    const client = new Client({ name: 'a-client', version: '1' }, { capabilities: { elicitation: { url: {} } } });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    const early = await echo(client, 'hello');
    assert.ok(early.isError);
    assert.match(early.text, /the operator of mcpivot is signing in now/);
    assert.doesNotMatch(JSON.stringify(early), /state=|code_challenge/);
    login.stdin.write(`${String((await sign_in(shown, 'ada', true)).url)}\n`);
    await once(login, 'close');
    await has_echo(client);
    assert.match((await echo(client, 'now')).text, /echo: now/);
    await client.close();
  });
});

describe('the sign-in file', () => {
  test('is ignored if it is damaged', async () => {
    await start();
    const client = await home.client('--url', server.url);
    await has_echo(client);
    const file = home.record();
    for (const damaged of ['', '{', '[]', '{"version":1}', '\0'.repeat(1000), 'x'.repeat(1_000_000)]) {
      writeFileSync(file, damaged);
      await eventually(async () => !(await echo(client, 'hello')).isError, 'it is signed in again');
    }
    assert.match((await echo(client, 'hello')).text, /echo: hello/);
    const other = await home.client('--url', server.url);
    await has_echo(other);
    assert.match((await echo(other, 'hello')).text, /echo: hello/);
  });

  test("is named if it can't be written, and no user is asked", async () => {
    await start();
    mkdirSync(join(home.root, '.local/state/mcpivot'), { recursive: true });
    writeFileSync(join(home.root, '.local/state/mcpivot/oauth'), 'in the way');
    const client = await home.client('--url', server.url);
    const { isError, text } = await echo(client, 'hello');
    assert.ok(isError);
    assert.match(text, /mcpivot can't write to \S+\/oauth: Not a directory/);
    assert.equal(home.tabs.length, 0);
    const { code, out } = await home.run(['login', server.url]);
    assert.equal(code, 1, out);
    assert.match(out, /can't write to/);
  });
});
