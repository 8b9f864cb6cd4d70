// The clients of the matrix: both major versions of the SDK, behind one interface, so that each cell is asked the same.
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { Client as ClientV2, LOG_LEVEL_META_KEY, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';

const schemas = {
  'elicitation/create': ElicitRequestSchema,
  'sampling/createMessage': CreateMessageRequestSchema,
  'roots/list': ListRootsRequestSchema,
  'notifications/message': LoggingMessageNotificationSchema,
  'notifications/resources/list_changed': ResourceListChangedNotificationSchema,
  'notifications/resources/updated': ResourceUpdatedNotificationSchema,
  'notifications/tools/list_changed': ToolListChangedNotificationSchema,
};

const kinds = {
  v1: { Client: ClientV1, Stdio: StdioV1, Http: HttpV1, key: (method) => schemas[method] },
  'v2-legacy': { mode: 'legacy' },
  'v2-auto': { mode: 'auto' },
  'v2-pinned': { mode: { pin: '2026-07-28' } },
};
const v2 = { Client: ClientV2, Stdio: StdioV2, Http: HttpV2, key: (method) => method };

const info = { name: 'mcpivot-eras', version: '1.0.0' };
const capabilities = { sampling: {}, elicitation: { form: {} }, roots: { listChanged: true } };

/** What this client answers when a form asks for these fields. */
const filled_in = { name: 'Ada', color: 'green' };
const answers = {
  'elicitation/create': ({ requestedSchema }) => ({
    action: 'accept',
    content: Object.fromEntries(Object.entries(filled_in).filter(([field]) => field in requestedSchema.properties)),
  }),
  'sampling/createMessage': () => ({
    role: 'assistant',
    model: 'a-model',
    stopReason: 'endTurn',
    content: { type: 'text', text: 'Something.' },
  }),
  'roots/list': () => ({ roots: [{ uri: 'file:///one', name: 'One' }, { uri: 'file:///two' }] }),
};

export class Peer {
  /** Every message that arrived, in order, as the transport read it. */
  received = [];
  /** What the server asked, in order: { method, params }. */
  asked = [];
  /** The notifications that the SDK passed on to its application, in order. */
  told = [];
  #kind;
  #limit;
  #ever; // the SDK's own limit: callers give up earlier
  #wake = new Set();

  /** To a command line, or to a URL, with these headers. Connecting may take `limit` milliseconds, waiting for a message half of it. */
  static async connect(name, to, { env = {}, headers = {}, limit }) {
    const peer = new Peer();
    peer.#limit = limit / 2;
    peer.#ever = 10 * limit;
    const { Client, Stdio, Http, key, mode } = (peer.#kind = { ...v2, ...kinds[name] });
    peer.client = new Client(info, { capabilities, ...(mode && { versionNegotiation: { mode } }) });
    for (const [method, answer] of Object.entries(answers)) {
      peer.client.setRequestHandler(key(method), ({ params }) => {
        peer.asked.push({ method, params });
        return answer(params);
      });
    }
    for (const method of Object.keys(schemas).filter((each) => each.startsWith('notifications/'))) {
      peer.client.setNotificationHandler(key(method), (notification) => peer.#note(peer.told, notification));
    }
    const transport =
      to instanceof URL
        ? new Http(to, { requestInit: { headers } })
        : new Stdio({ command: to[0], args: to.slice(1), env: { ...process.env, ...env }, stderr: 'pipe' });
    let stderr = '';
    transport.stderr?.setEncoding('utf8').on('data', (text) => (stderr = (stderr + text).slice(-300)));
    transport.onmessage = (message) => peer.#note(peer.received, message);
    try {
      await peer.client.connect(transport, { timeout: limit });
    } catch (error) {
      error.message += ` ${stderr}`;
      throw error;
    }
    return peer;
  }

  get modern() {
    return this.client.getProtocolEra?.() === 'modern';
  }

  /** The id of its session, if it has one. */
  get session() {
    return this.client.transport.sessionId;
  }

  async call([name, args = {}], { _meta, ...options } = {}) {
    const params = { name, arguments: args, ...(_meta && { _meta }) };
    options = { timeout: this.#ever, ...options };
    return this.#kind.mode ? this.client.callTool(params, options) : this.client.callTool(params, undefined, options);
  }
  /** The other requests, by the SDK's name for them. */
  ask(method, params) {
    return this.client[method](params, { timeout: this.#ever });
  }

  /** Changes of these kinds are announced from now on. In the legacy era nobody asks for changes of lists. */
  async listen({ resourceSubscriptions = [], ...lists }) {
    if (this.modern) return this.client.listen({ resourceSubscriptions, ...lists }, { timeout: this.#ever });
    for (const uri of resourceSubscriptions) await this.ask('subscribeResource', { uri });
  }
  /** What a call must contain so that the server logs everything. */
  async log_everything() {
    if (this.modern) return { _meta: { [LOG_LEVEL_META_KEY]: 'debug' } };
    await this.client.setLoggingLevel('debug', { timeout: this.#ever });
    return {};
  }

  /** The first item of `received` or `told` that matches, as soon as it is there. */
  until(list, match, what) {
    return new Promise((resolve, reject) => {
      const look = () => {
        const found = list.find(match);
        if (!found) return;
        this.#wake.delete(look);
        clearTimeout(timer);
        resolve(found);
      };
      const timer = setTimeout(() => {
        this.#wake.delete(look);
        reject(new Error(`no ${what} within ${this.#limit / 1000} s`));
      }, this.#limit);
      this.#wake.add(look);
      look();
    });
  }

  #note(list, item) {
    list.push(item);
    for (const look of this.#wake) look();
  }
}

export const client_names = Object.keys(kinds);
