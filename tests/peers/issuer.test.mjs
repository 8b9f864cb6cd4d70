// A real authorization server (npm's oidc-provider) in front of `mcpivot serve`: the official SDK's client is told to
// sign in, registers itself, signs its user in, and works with the JWT that it gets for mcpivot.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import Provider, { errors } from 'oidc-provider';
import { free_port } from './lib/ports.mjs';

const mcpivot = process.env.MCPIVOT;
const everything = new URL('node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url).pathname;
const redirect = 'http://127.0.0.1:1/callback'; // where nothing listens: the test reads the address itself

async function start_issuer(audience) {
  const port = await free_port();
  const url = `http://127.0.0.1:${port}`;
  const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });
  const provider = new Provider(url, {
    jwks: { keys: [{ ...key, kid: 'first', use: 'sig', alg: 'ES256' }] },
    cookies: { keys: ['only for tests'] },
    scopes: ['openid', 'offline_access', 'tools', 'admin'], // that clients may register for
    pkce: { required: () => true },
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    features: {
      registration: { enabled: true },
      devInteractions: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_, resource) => {
          if (resource !== audience) throw new errors.InvalidTarget();
          return {
            scope: 'tools admin',
            audience: resource,
            accessTokenTTL: 300,
            accessTokenFormat: 'jwt',
            jwt: { sign: { alg: 'ES256' } },
          };
        },
      },
    },
  });
  const server = createServer(provider.callback()).listen(port, '127.0.0.1');
  await once(server, 'listening');
  return { url, close: () => server.close() };
}

async function start_mcpivot(port, options, folder) {
  const child = spawn(mcpivot, ['serve', '--listen', `127.0.0.1:${port}`, ...options], {
    env: { ...process.env, XDG_STATE_HOME: folder, XDG_CACHE_HOME: folder, XDG_RUNTIME_DIR: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8');
  await new Promise((listening, failed) => {
    child.stderr.on('data', (text) => {
      said += text;
      if (said.includes('listening on')) listening();
    });
    child.on('exit', () => failed(new Error(said)));
  });
  return { child, said: () => said };
}

// What a browser does: follows redirects with its cookies, and the user fills in the forms.
async function sign_in(url, login) {
  const cookies = new Map();
  const visit = async (where, form) => {
    const response = await fetch(where, {
      method: form ? 'POST' : 'GET',
      body: form && new URLSearchParams(form),
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [name, value] = cookie.split(';')[0].split('=');
      cookies.set(name, value);
    }
    return response;
  };
  let response = await visit(url);
  for (let step = 0; step < 20; ++step) {
    if (response.status >= 300 && response.status < 400) {
      const next = new URL(response.headers.get('location'), response.url || url);
      if (next.href.startsWith(redirect)) return next.searchParams;
      url = next;
      response = await visit(next);
      continue;
    }
    const page = await response.text();
    const action = page.match(/action="([^"]+)"/)?.[1];
    assert.ok(response.ok && action, `${response.status} ${page}`);
    response = page.includes('value="login"')
      ? await visit(new URL(action, url), { prompt: 'login', login, password: 'any' })
      : await visit(new URL(action, url), { prompt: 'consent' });
  }
  throw new Error('signing in has no end');
}

// What the SDK needs from a program: to store what it learns, and to show the user a URL.
class Account {
  redirectUrl = redirect;
  clientMetadata = {
    client_name: 'test',
    redirect_uris: [redirect],
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code'],
    response_types: ['code'],
  };
  clientInformation = () => this.client;
  saveClientInformation = (client) => (this.client = client);
  tokens = () => this.kept;
  saveTokens = (tokens) => (this.kept = tokens);
  redirectToAuthorization = (url) => (this.asked = url);
  saveCodeVerifier = (verifier) => (this.verifier = verifier);
  codeVerifier = () => this.verifier;
}

async function connect(url, account, login) {
  const address = new URL(url);
  const first = new StreamableHTTPClientTransport(address, { authProvider: account });
  const refused = new Client({ name: 'test', version: '1' });
  await assert.rejects(refused.connect(first), UnauthorizedError);
  const answer = await sign_in(account.asked, login);
  await first.finishAuth(answer.get('code'));
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(address, { authProvider: account }));
  return client;
}

const claims_of = (token) => JSON.parse(Buffer.from(token.split('.')[1], 'base64url'));

describe('mcpivot serve --oauth-issuer with oidc-provider', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mcpivot-issuer-'));
  let issuer, serving, base;

  before(async () => {
    const port = await free_port();
    base = `http://127.0.0.1:${port}`;
    issuer = await start_issuer(`${base}/mcp`);
    const config = join(folder, 'mcpivot.json');
    writeFileSync(
      config,
      JSON.stringify({
        mcpServers: { everything: { command: process.execPath, args: [everything], active: true } },
        profiles: { default: { scopes: ['tools'] }, ops: { scopes: ['tools', 'admin'] } },
      }),
    );
    const options = ['--oauth-issuer', issuer.url, '--audience', `${base}/mcp`, '--config', config];
    serving = await start_mcpivot(port, options, folder);
  });
  after(async () => {
    serving?.child.kill();
    if (serving) await once(serving.child, 'exit');
    issuer?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test("the SDK's client finds the issuer, signs its user in, and calls a tool", { timeout: 60_000 }, async () => {
    const account = new Account();
    const client = await connect(`${base}/mcp`, account, 'alice');
    const { tools } = await client.listTools();
    assert.ok(tools.some(({ name }) => name === 'everything__echo' || name === 'echo'));
    const echo = tools.find(({ name }) => name.endsWith('echo')).name;
    const result = await client.callTool({ name: echo, arguments: { message: 'hello' } });
    assert.match(JSON.stringify(result), /hello/);
    const claims = claims_of(account.kept.access_token);
    assert.equal(claims.iss, issuer.url);
    assert.equal(claims.aud, `${base}/mcp`);
    assert.equal(claims.sub, 'alice');
    assert.equal(claims.scope, 'tools');

    // The same token isn't enough where more scopes are needed.
    const lacking = await fetch(`${base}/mcp/ops`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${account.kept.access_token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    });
    assert.equal(lacking.status, 403);
    assert.match(lacking.headers.get('www-authenticate'), /error="insufficient_scope".*scope="tools admin"/);
    await client.close();

    const logs = readdirSync(join(folder, 'mcpivot')).filter((name) => name.endsWith('.log'));
    const log = logs.map((name) => readFileSync(join(folder, 'mcpivot', name), 'utf8')).join('');
    assert.ok(log.includes(`${issuer.url} alice`));
    assert.ok(!log.includes(account.kept.access_token.split('.')[2]));
  });

  test('two users of one issuer are two clients', { timeout: 60_000 }, async () => {
    const [alice, bob] = [new Account(), new Account()];
    const of_alice = await connect(`${base}/mcp`, alice, 'alice');
    const of_bob = await connect(`${base}/mcp`, bob, 'bob');
    const session = of_alice.transport.sessionId;
    const stolen = await fetch(`${base}/mcp`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${bob.kept.access_token}`, 'mcp-session-id': session },
    });
    assert.equal(stolen.status, 404);
    assert.ok((await of_alice.listTools()).tools.length > 0);
    await of_alice.close();
    await of_bob.close();
  });
});
