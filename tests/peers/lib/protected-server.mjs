// A real authorization server (oidc-provider: discovery, dynamic registration, PKCE, refresh tokens that rotate, resource
// indicators, pages to sign in on) and an MCP server on the official SDK that accepts only its tokens.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { randomUUID } from 'node:crypto';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import Provider from 'oidc-provider';
import { z } from 'zod';

async function listen(server) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${server.address().port}`;
}
async function close(server) {
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
}

export class Issuer {
  /** How often each of these happened. */
  counts = { registrations: 0, authorizations: 0, refreshes: 0, failed_refreshes: 0, tokens: 0 };
  /** How old the last tokens were, in ms, at each refresh. */
  ages = [];
  #issued = 0;
  /** The requests it got, whether it answers or not; and what answers instead of it, if that returns true. */
  requests = [];
  instead;
  /** What it issued: none of it may be seen anywhere else. */
  secrets = new Set();
  #server;

  static async start({ token_seconds = 3600 } = {}) {
    const issuer = new Issuer();
    issuer.#server = createServer((request, response) => issuer.#handle(request, response));
    issuer.url = await listen(issuer.#server);
    issuer.token_seconds = token_seconds;
    issuer.provider = new Provider(issuer.url, {
      clients: [],
      findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
      pkce: { required: () => true },
      rotateRefreshToken: true,
      issueRefreshToken: () => true,
      scopes: ['openid', 'offline_access', 'mcp:read', 'mcp:write'],
      cookies: { keys: [randomUUID()] },
      ttl: { AccessToken: () => issuer.token_seconds, RefreshToken: 3600, Session: 3600, Grant: 3600, Interaction: 600 },
      features: {
        registration: { enabled: true },
        revocation: { enabled: true },
        resourceIndicators: {
          enabled: true,
          defaultResource: () => undefined,
          useGrantedResource: () => true,
          getResourceServerInfo: (_, resource) => ({
            scope: 'mcp:read mcp:write',
            audience: resource,
            accessTokenTTL: issuer.token_seconds,
            accessTokenFormat: 'opaque',
          }),
        },
      },
    });
    issuer.provider.on('registration_create.success', () => ++issuer.counts.registrations);
    issuer.provider.on('authorization.success', () => ++issuer.counts.authorizations);
    issuer.provider.on('grant.success', (ctx) => {
      if (ctx.oidc.params.grant_type === 'refresh_token') {
        ++issuer.counts.refreshes;
        issuer.ages.push(Date.now() - issuer.#issued);
      }
      issuer.#issued = Date.now();
      ++issuer.counts.tokens;
      for (const name of ['access_token', 'refresh_token', 'id_token']) if (ctx.body[name]) issuer.secrets.add(ctx.body[name]);
    });
    issuer.provider.on('grant.error', (ctx) => {
      if (ctx.oidc.params?.grant_type === 'refresh_token') ++issuer.counts.failed_refreshes;
    });
    return issuer;
  }
  #handle(request, response) {
    this.requests.push(`${request.method} ${request.url.split('?')[0]}`);
    if (this.down) return response.writeHead(503).end();
    if (this.instead?.(request, response)) return undefined;
    return this.provider.callback()(request, response);
  }

  /** What a token is good for; undefined if it isn't ours, or expired, or was forgotten. */
  async token(value) {
    const token = await this.provider.AccessToken.find(value);
    return token && !token.isExpired && !this.forgotten?.has(value) ? { audience: token.aud, scopes: token.scope?.split(' ') ?? [], account: token.accountId } : undefined;
  }
  /** All access tokens so far become invalid; those that follow live as long as they may. */
  expire_tokens() {
    this.forgotten = new Set(this.secrets);
  }
  /** So do the grants behind them. */
  async revoke_all() {
    this.expire_tokens();
    for (const secret of this.secrets) await (await this.provider.RefreshToken.find(secret))?.destroy();
  }
  stop() {
    return close(this.#server);
  }
}

export class ProtectedServer {
  requests = [];
  /** Answers instead of it, if that returns true. */
  instead;
  /** The calls that it accepted. */
  calls = [];
  #server;
  #sessions = new Map();

  /** `scopes_of` gives the scopes that a call of this tool needs. */
  static async start(issuer, { scope = 'mcp:read', scopes_of = () => [], challenge = true } = {}) {
    const server = new ProtectedServer();
    Object.assign(server, { issuer, scope, scopes_of, challenge });
    server.#server = createServer((request, response) => server.#handle(request, response));
    server.origin = await listen(server.#server);
    server.url = `${server.origin}/mcp`;
    server.metadata = { resource: server.url, authorization_servers: [issuer.url], scopes_supported: ['mcp:read'] };
    return server;
  }

  async #handle(request, response) {
    if (this.instead?.(request, response)) return undefined;
    const path = new URL(request.url, this.origin).pathname;
    if (path === '/.well-known/oauth-protected-resource/mcp')
      return response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(this.metadata));
    if (path !== '/mcp') return response.writeHead(404).end();
    let text = '';
    for await (const piece of request) text += piece;
    const body = text ? JSON.parse(text) : undefined;
    const [, bearer] = /^Bearer (.*)$/.exec(request.headers.authorization ?? '') ?? [];
    const token = bearer && (await this.issuer.token(bearer));
    this.requests.push({ method: body?.method ?? request.method, authorized: Boolean(token) });
    const refuse = (status, more) => {
      const metadata = `resource_metadata="${this.origin}/.well-known/oauth-protected-resource/mcp"`;
      const header = this.challenge ? `Bearer ${[...more, metadata].join(', ')}` : 'Bearer';
      response.writeHead(status, { 'WWW-Authenticate': header }).end();
    };
    if (!token || token.audience !== this.url || this.rejects) return refuse(401, [`scope="${this.scope}"`]);
    const missing = (body?.method === 'tools/call' ? this.scopes_of(body.params.name) : []).filter((one) => !token.scopes.includes(one));
    if (missing.length > 0) return refuse(403, ['error="insufficient_scope"', `scope="${missing.join(' ')}"`]);
    if (body?.method === 'tools/call') this.calls.push(body);
    await this.#serve(request, response, body);
  }

  async #serve(request, response, body) {
    const id = request.headers['mcp-session-id'];
    if (id && !this.#sessions.has(id)) return response.writeHead(404).end();
    let transport = this.#sessions.get(id);
    if (!transport) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (session) => this.#sessions.set(session, transport),
      });
      const server = new McpServer({ name: 'protected', version: '1.0.0' });
      for (const name of ['echo', 'write'])
        server.registerTool(name, { description: name, inputSchema: { text: z.string() } }, ({ text }) => ({
          content: [{ type: 'text', text: `${name}: ${text}` }],
        }));
      await server.connect(transport);
    }
    await transport.handleRequest(request, response, body);
  }
  stop() {
    return close(this.#server);
  }
}
