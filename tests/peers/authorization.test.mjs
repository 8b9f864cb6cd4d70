// Servers that require their users to sign in: a real authorization server, real pages, the official SDK on both sides,
// and mcpivot between them.
//   MCPIVOT=path/to/mcpivot node --test authorization.test.mjs
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { ElicitationCompleteNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { sign_in } from './lib/browser.mjs';
import { eventually } from './lib/place.mjs';
import { RawPeer } from './lib/raw.mjs';
import { echo, has_echo, mcpivot, start_all, text_of } from './lib/signing-in.mjs';

let issuer, server, home, stop;
const start = async (options) => ({ issuer, server, home, stop } = await start_all(options));
afterEach(async () => {
  await stop?.();
  issuer = server = home = stop = undefined;
});

/** `mcpivot login`, by a user whose browser is elsewhere. */
const login = (...more) =>
  home.run(['login', server.url, ...more], (printed) => {
    const [, url] = /^ {2}(http\S+)$/m.exec(printed) ?? [];
    return url && sign_in(url, 'ada', true).then((page) => String(page.url));
  });

describe('signing in', () => {
  test('a 401 from the server opens the browser, and the call is answered', async () => {
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

describe('one sign-in for all processes', () => {
  test('five processes with fifty requests register, ask and refresh once, and no call fails', async () => {
    await start();
    const clients = await Promise.all(Array.from({ length: 5 }, () => home.client('--url', server.url)));
    const all = () => Promise.all(clients.flatMap((client) => Array.from({ length: 10 }, (_, i) => echo(client, `call ${i}`))));
    for (const { isError, text } of await all()) assert.ok(!isError && /echo: call/.test(text), text);
    assert.equal(home.tabs.length, 1);
    assert.deepEqual(issuer.counts, { registrations: 1, authorizations: 1, refreshes: 0, failed_refreshes: 0, tokens: 1 });
    issuer.expire_tokens();
    for (const { isError, text } of await all()) assert.ok(!isError && /echo: call/.test(text), text);
    assert.deepEqual(issuer.counts, { registrations: 1, authorizations: 1, refreshes: 1, failed_refreshes: 0, tokens: 2 });
  });

  test('tokens that live for two seconds: no call fails, and none is refreshed twice', async () => {
    await start({ token_seconds: 2 });
    const clients = await Promise.all(Array.from({ length: 5 }, () => home.client('--url', server.url)));
    await Promise.all(clients.map(has_echo));
    const failed = [];
    const until_refreshed = async (client) => {
      while (issuer.counts.refreshes < 3) {
        const { isError, text } = await echo(client, 'hello');
        if (isError) failed.push(text);
      }
    };
    await Promise.all(clients.flatMap((client) => Array.from({ length: 10 }, () => until_refreshed(client))));
    assert.deepEqual(failed, []);
    assert.equal(home.tabs.length, 1);
    // On a slow machine, the last calls may need a fourth one.
    const { refreshes } = issuer.counts;
    assert.deepEqual(issuer.counts, { registrations: 1, authorizations: 1, refreshes, failed_refreshes: 0, tokens: refreshes + 1 });
    assert.deepEqual(issuer.ages.filter((age) => age < 1_000), [], 'only tokens that have expired are refreshed');
  });

  test('a mcpivot that ends during a refresh does not lose the sign-in', async () => {
    await start();
    const client = await home.client('--url', server.url);
    await has_echo(client);
    issuer.expire_tokens();
    // Once the issuer has replaced the token, the answer takes its time.
    const replaced = new Promise((done) => {
      issuer.instead = (request, response) => {
        if (!request.url.startsWith('/token')) return false;
        const end = response.end.bind(response);
        response.end = (...all) => (done(() => end(...all)), response);
        return false;
      };
    });
    echo(client, 'hello');
    const answer = await replaced;
    const gone = client.close();
    await eventually(() => /ending: the client/.test(home.log()), 'it ends');
    answer();
    await gone;
    issuer.instead = undefined;
    const next = await home.client('--url', server.url);
    await has_echo(next);
    assert.match((await echo(next, 'again')).text, /echo: again/);
    assert.equal(home.tabs.length, 1);
    assert.deepEqual(issuer.counts, { registrations: 1, authorizations: 1, refreshes: 1, failed_refreshes: 0, tokens: 2 });
  });

  test('a login that is interrupted while it refreshes the token does not lose the sign-in', async () => {
    await start();
    const client = await home.client('--url', server.url);
    await has_echo(client);
    await client.close();
    const record = JSON.parse(readFileSync(home.record(), 'utf8'));
    record.tokens.expires = 1;
    writeFileSync(home.record(), JSON.stringify(record));
    issuer.expire_tokens();
    const replaced = new Promise((done) => {
      issuer.instead = (request, response) => {
        if (!request.url.startsWith('/token')) return false;
        const end = response.end.bind(response);
        response.end = (...all) => (done(() => end(...all)), response);
        return false;
      };
    });
    const child = spawn(mcpivot, ['login', server.url, '--no-browser'], { env: home.env, stdio: ['pipe', 'pipe', 'pipe'] });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text) => (said += text));
    const ended = once(child, 'close');
    const answer = await replaced;
    child.kill('SIGINT');
    await Promise.race([ended, eventually(() => /ending, when the authorization server has answered/.test(said), 'it waits')]);
    answer();
    const [code] = await ended;
    assert.equal(code, 130);
    issuer.instead = undefined;
    const next = await home.client('--url', server.url);
    assert.match((await echo(next, 'again')).text, /echo: again/);
    assert.equal(home.tabs.length, 1);
    assert.equal(issuer.counts.failed_refreshes, 0);
  });

  test('a revoked sign-in is requested again once, with the same registration', async () => {
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
  test('the call says what to open, and a pasted redirect signs in the running mcpivot', async () => {
    await start({ browses: false });
    const client = await home.client('--url', server.url);
    const { isError, text } = await echo(client, 'too early');
    assert.ok(isError);
    assert.match(text, /wants you to sign in: open http\S+ in a browser \(or run `mcpivot login http\S+`\), then call again/);
    assert.match(home.printed, /open http\S+\?… in a browser/);
    assert.doesNotMatch(home.printed, /state=/, 'the log has no secrets');
    const { code, out } = await login();
    assert.equal(code, 0, out);
    assert.match(out, /signed in at http/);
    await has_echo(client);
    assert.match((await echo(client, 'now')).text, /echo: now/);
    assert.equal(issuer.counts.authorizations, 1);
  });

  test('the command that the call names has all that the login needs, and no secret of the address', async () => {
    await start({ browses: false });
    const client = await home.client('--url', `${server.url}?key=secret`, '--client-id', 'mine', '--redirect-port', '7654');
    const { text } = await echo(client, 'too early');
    assert.ok(text.includes(`(or run \`mcpivot login '${server.url}?…' --client-id mine --redirect-port 7654\`)`), text);
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
    // An authorization server that has forgotten the registration gets a new one.
    assert.equal(JSON.parse(readFileSync(home.record(), 'utf8')).client.id, '');
    assert.match((await home.run(['logout', server.url])).out, /signed out already/);
    assert.equal((await login()).code, 0);
    assert.equal(issuer.counts.registrations, 2);
  });

  test('login continues if the server answers its first request with a stream', async () => {
    await start({ browses: false });
    server.instead = (request, response) => {
      if (request.method !== 'POST' || request.headers.authorization) return false;
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write(': hello\n\n');
      return true;
    };
    const { code, out } = await login();
    assert.equal(code, 0, out);
  });

  test("login follows a redirect to the server's requirements", async () => {
    await start({ browses: false });
    server.metadata.resource = server.origin;
    server.instead = (request, response) => {
      if (request.url !== '/old') return false;
      response.writeHead(307, { Location: '/mcp' }).end();
      return true;
    };
    const { code, out } = await home.run(['login', `${server.origin}/old`], (printed) => {
      const [, url] = /^ {2}(http\S+)$/m.exec(printed) ?? [];
      return url && sign_in(url, 'ada', true).then((page) => String(page.url));
    });
    assert.equal(code, 0, out);
  });
});

describe('a client that can open URLs for its user', () => {
  const capabilities = { elicitation: { url: {} } };

  test('is told what to open in the legacy era, and when that is done', async () => {
    await start({ browses: false });
    const client = await home.client(capabilities, '--url', server.url);
    const done = [];
    client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) => done.push(params.elicitationId));
    const { code, data, text } = await echo(client, 'too early');
    assert.equal(code, -32042, text);
    const [{ mode, url, elicitationId, message }] = data.elicitations;
    assert.equal(mode, 'url');
    assert.match(message, /wants you to sign in/);
    assert.deepEqual(done, []);
    await sign_in(url);
    await eventually(() => done.includes(elicitationId), 'the client is told');
    assert.match((await echo(client, 'now')).text, /echo: now/);
    assert.equal(issuer.counts.authorizations, 1);

    // And when the sign-in is revoked in the middle of a session.
    await issuer.revoke_all();
    const again = await echo(client, 'signed out');
    assert.equal(again.code, -32042, again.text);
    assert.notEqual(again.data.elicitations[0].elicitationId, elicitationId);
    await sign_in(again.data.elicitations[0].url);
    await eventually(() => done.length === 2, 'the client is told again');
    assert.match((await echo(client, 'again')).text, /echo: again/);
  });

  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'a-client', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  };
  let client;
  const modern = () => {
    const variables = Object.entries(home.env).map(([name, value]) => `${name}=${value}`);
    client = new RawPeer(['env', '-i', ...variables, mcpivot, '--front', 'modern', '--url', server.url]);
  };
  const line = (id, more) => {
    const params = { name: 'echo', arguments: { text: `call ${id}` }, _meta, ...more };
    return JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params });
  };
  const ask = async (id, more = {}) => JSON.parse(await client.ask(line(id, more)));
  const answered = ({ result }, action) => ({ requestState: result.requestState, inputResponses: { sign_in: { action } } });
  afterEach(() => client?.close());

  test('is asked in the modern era, and its call continues once the user has signed in', async () => {
    await start({ browses: false });
    modern();
    const first = await ask(1);
    assert.equal(first.result.resultType, 'input_required', JSON.stringify(first));
    const { method, params } = first.result.inputRequests.sign_in;
    assert.equal(method, 'elicitation/create');
    assert.equal(params.mode, 'url');
    const waiting = [ask(2, answered(first, 'accept')), ask(3, answered(first, 'accept'))];
    await sign_in(params.url);
    const results = await Promise.all(waiting);
    assert.deepEqual(results.map(({ result }) => text_of(result).split('\n').at(-1)), ['echo: call 2', 'echo: call 3']);
    // What the client told mcpivot isn't for the server.
    const seen = server.calls.map(({ params }) => Object.keys(params).sort());
    assert.deepEqual(seen, [['_meta', 'arguments', 'name'], ['_meta', 'arguments', 'name']]);
    assert.equal(issuer.counts.authorizations, 1);
  });

  test('can cancel a call that waits for the sign-in', async () => {
    await start({ browses: false });
    modern();
    const first = await ask(1);
    client.send(line(2, answered(first, 'accept')));
    const kept = ask(3, answered(first, 'accept'));
    client.send(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2, _meta } }));
    await sign_in(first.result.inputRequests.sign_in.params.url);
    assert.match(text_of((await kept).result), /echo: call 3/);
    assert.deepEqual(server.calls.map(({ params }) => params.arguments.text), ['call 3']);
    assert.deepEqual(client.answers('2'), []);
  });

  test('is told if the user declines or is rejected', async () => {
    await start({ browses: false });
    modern();
    const first = await ask(1);
    const declined = await ask(2, answered(first, 'decline'));
    assert.ok(declined.result.isError);
    assert.match(text_of(declined.result), /did not agree/);
    const { url } = first.result.inputRequests.sign_in.params;
    const waiting = ask(3, answered(first, 'accept'));
    const { searchParams } = new URL(url);
    const page = new URL(searchParams.get('redirect_uri'));
    page.search = new URLSearchParams({ error: 'access_denied', state: searchParams.get('state'), iss: issuer.url });
    await fetch(page);
    const refused = await waiting;
    assert.ok(refused.result.isError);
    assert.match(text_of(refused.result), /the sign-in failed: the sign-in was refused: access_denied/);
    assert.equal(server.calls.length, 0);
  });
});

describe('the signed-in user', () => {
  test('appears with an expiry in status, doctor and to the model until logout', async () => {
    await start({ browses: false });
    const config = join(home.root, 'mcpivot.json');
    writeFileSync(config, JSON.stringify({ mcpServers: { tracker: { url: server.url } } }));
    assert.equal((await login()).code, 0);
    const client = await home.client('--config', config);
    await eventually(async () => (await client.listTools()).tools.some(({ name }) => name === 'echo'), 'it works');
    const until = /signed in (as \S+ )?at http:\S+; token valid until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, then refreshed/;
    const told = async () => [
      text_of(await client.callTool({ name: 'pivot_status', arguments: {} })),
      (await home.run(['status', 'tracker'])).out,
      (await home.run(['doctor', config])).out,
    ];
    for (const text of await told()) assert.match(text, until);
    const { code, out } = await home.run(['logout', 'tracker', '--config', config]);
    assert.equal(code, 0, out);
    assert.match(out, /tracker: signed out; its tokens are no longer on this machine/);
    assert.match((await home.run(['logout', 'tracker', '--config', config])).out, /signed out already/);
    // The running one notices within a second, and its next call asks.
    const { text } = await eventually(async () => {
      const answer = await echo(client, 'hello');
      return answer.isError && answer;
    }, 'the token is no longer used');
    assert.match(text, /wants you to sign in: open http\S+ in a browser \(or run `mcpivot login tracker`\)/);
    for (const text of (await told()).slice(1)) assert.doesNotMatch(text, until);
    assert.equal(issuer.counts.registrations, 2, 'a logout forgets the registration, too');
  });

  test('a server without a sign-in says how to sign in, also in a fleet', async () => {
    await start({ browses: false });
    const config = join(home.root, 'mcpivot.json');
    const servers = { tracker: { url: server.url, active: true }, other: { command: 'sleep', args: ['60'] } };
    writeFileSync(config, JSON.stringify({ mcpServers: servers }));
    const client = await home.client('--config', config);
    const status = () => client.callTool({ name: 'pivot_status', arguments: { server: 'tracker' } }).then(text_of);
    await eventually(async () => /mcpivot login tracker/.test(await status()), 'the status says how');
    const { text } = await echo(client, 'hello', 'tracker__echo');
    assert.match(text, /mcpivot login tracker/);
  });
});

test('a configured Authorization header prevents a sign-in', async () => {
  await start();
  const client = await home.client('--url', server.url, '--header', 'Authorization: Bearer wrong');
  const { isError, text } = await echo(client, 'hello');
  assert.ok(isError);
  assert.match(text, /401/);
  assert.equal(home.tabs.length, 0);
  assert.equal(issuer.counts.registrations, 0);
});

test('a server of the old transport that answers its stream with 401 is signed in to', async () => {
  await start();
  let stream;
  const messages = async (request, response) => {
    let text = '';
    for await (const piece of request) text += piece;
    response.writeHead(202).end();
    const { id, method } = JSON.parse(text);
    const results = {
      initialize: { protocolVersion: '2024-11-05', capabilities: { tools: {} }, serverInfo: { name: 'old', version: '1' } },
      'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
      'tools/call': { content: [{ type: 'text', text: 'echo: hello' }] },
    };
    if (id !== undefined) stream.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} })}\n\n`);
  };
  const open = async (request, response) => {
    const [, bearer] = /^Bearer (.*)$/.exec(request.headers.authorization ?? '') ?? [];
    if (!bearer || !(await issuer.token(bearer))) return response.writeHead(401, { 'WWW-Authenticate': 'Bearer' }).end();
    return (stream = response.writeHead(200, { 'Content-Type': 'text/event-stream' })).write('event: endpoint\ndata: /messages\n\n');
  };
  server.instead = (request, response) => {
    if (request.url.startsWith('/.well-known/')) return false;
    if (request.url === '/messages') messages(request, response);
    else if (request.method === 'GET') open(request, response);
    else response.writeHead(405, { Allow: 'GET' }).end();
    return true;
  };
  const client = await home.client('--url', server.url);
  assert.match((await echo(client, 'hello')).text, /echo: hello/);
  assert.equal(home.tabs.length, 1);
  await eventually(() => existsSync(join(home.root, 'tabs.pages')), 'the browser has shown its last page');
});

const writes_need_more = { browses: false, token_seconds: 2, scopes_of: (tool) => (tool === 'write' ? ['mcp:write'] : []) };
test('while a user is asked for more scopes, the token is refreshed for all other calls, in all processes', async () => {
  await start(writes_need_more);
  assert.equal((await login()).code, 0);
  const [first, second] = [await home.client('--url', server.url), await home.client('--url', server.url)];
  await Promise.all([has_echo(first), has_echo(second)]);
  assert.match((await echo(first, 'x', 'write')).text, /wants you to sign in: open \S+scope=mcp%3Aread%20mcp%3Awrite/);
  // The first one has the turn, and is asked nothing: it refreshes the token for the second one.
  while (issuer.counts.refreshes === 0) {
    const { text } = await echo(second, 'hello');
    assert.match(text, /echo: hello|wants you to sign in/);
  }
  await eventually(async () => !(await echo(second, 'hello')).isError, 'the second one has the new token');
  issuer.expire_tokens(); // before their time
  assert.match((await echo(first, 'hello')).text, /echo: hello/);
  const url = /open (http\S+) in/.exec((await echo(first, 'x', 'write')).text)[1];
  await sign_in(url);
  await eventually(async () => /write: x/.test((await echo(second, 'x', 'write')).text), 'the user has agreed');
  assert.equal(issuer.counts.failed_refreshes, 0);
  assert.equal(issuer.counts.authorizations, 2);
});

test('more scopes are requested when a tool needs them', async () => {
  await start({ scopes_of: (tool) => (tool === 'write' ? ['mcp:write'] : []) });
  const client = await home.client('--url', server.url);
  await has_echo(client);
  assert.match((await echo(client, 'x', 'write')).text, /write: x/);
  assert.equal(home.tabs.length, 2);
  assert.match(home.tabs[1], /scope=mcp%3Aread%20mcp%3Awrite/);
});

test('under serve clients see no sign-in URL, and the operator signs in with the scopes that calls need', async () => {
  await start({ ...writes_need_more, token_seconds: 3600 });
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
    assert.doesNotMatch(text, /http|state=|code_challenge/);
    assert.equal(issuer.counts.registrations, 0);
    assert.equal((await login()).code, 0);
    await has_echo(client);
    const lacking = await echo(client, 'x', 'write');
    assert.match(lacking.text, /to allow mcp:write, run `mcpivot login URL` on the machine that mcpivot runs on/);
    assert.equal((await login()).code, 0);
    await eventually(async () => /write: x/.test((await echo(client, 'x', 'write')).text), 'the operator has allowed it');
    assert.equal(issuer.counts.authorizations, 2);
    await client.close();
  } finally {
    gate.kill('SIGKILL');
    await once(gate, 'close');
  }
});
