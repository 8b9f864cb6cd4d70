// A client made with the official SDK that records every message it gets, and whose answers to the
// server's requests a scenario can choose.
import { EventEmitter } from 'node:events';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { environment, patience, scratch_path, tapped } from './commands.mjs';
import { Log } from './log.mjs';
import { Stderr } from './stderr.mjs';
import { Tap } from './tap.mjs';

// With many large messages at once the SDK waits many times for one pipe to drain; that is no leak.
EventEmitter.defaultMaxListeners = 0;

/** All that a client of 2025-11-25 can offer to a server. */
export const every_capability = {
  sampling: { context: {}, tools: {} },
  elicitation: { form: {}, url: {} },
  roots: { listChanged: true },
  tasks: { list: {}, cancel: {}, requests: { sampling: { createMessage: {} }, elicitation: { create: {} } } },
};

const answers = () => ({
  'sampling/createMessage': () => ({
    role: 'assistant',
    model: 'a-model',
    stopReason: 'endTurn',
    content: { type: 'text', text: 'An answer.' },
  }),
  'elicitation/create': () => ({ action: 'cancel' }),
  'roots/list': () => ({ roots: [{ uri: 'file:///one', name: 'One' }, { uri: 'file:///two%20words' }] }),
});

/**
 * A second after each answer that is an error, the SDK asks for what came after it on that stream, and
 * server-everything then repeats what it sent on all of its streams.
 */
// Node closes a connection that was idle for 5 s, and a request that crosses that is lost; mcpivot never keeps one that
// long. This is about the peer without mcpivot, with which its results are compared.
const fetch_again = (url, init) =>
  fetch(url, init).catch((error) => {
    if (error.message !== 'fetch failed' || init?.signal?.aborted) throw error;
    return fetch(url, init);
  });

const once = {
  maxRetries: 0,
  initialReconnectionDelay: 0,
  maxReconnectionDelay: 0,
  reconnectionDelayGrowFactor: 1,
};

class PatientClient extends Client {
  request(request, schema, options) {
    return super.request(request, schema, { timeout: patience, ...options });
  }
}

export class Peer {
  /** The requests, answers and notifications that arrived and were sent, in order. */
  received = new Log('messages from the server', () => this.#stderr.end());
  sent = new Log('messages to the server', () => this.#stderr.end());
  /** What this client answers, by method; a scenario puts its own functions (params, extra) here. */
  answers = answers();
  /** What the server itself read and wrote; only when connected with `tap`. */
  tap;
  #stderr;
  #tasks;

  /** To a command, to a daemon's URL, or over a transport of the SDK. */
  static async connect(
    command,
    { capabilities = every_capability, env = {}, tap = false, answers = {} } = {},
  ) {
    const peer = new Peer();
    Object.assign(peer.answers, answers);
    if (tap) {
      peer.tap = new Tap(scratch_path());
      env = { ...env, SERVER_TAP: peer.tap.folder };
    }
    const transport =
      'start' in command
        ? command
        : command instanceof URL
          ? new StreamableHTTPClientTransport(command, { reconnectionOptions: once, fetch: fetch_again })
          : new StdioClientTransport({
              command: command[0],
              args: command.slice(1),
              env: { ...environment, ...env },
              stderr: 'pipe',
            });
    peer.#stderr = new Stderr(transport.stderr);
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
      peer.sent.add(message);
      return send(message, options);
    };
    transport.onmessage = (message) => peer.received.add(message);

    peer.#tasks = capabilities.tasks && new InMemoryTaskStore();
    peer.client = new PatientClient(
      { name: 'mcpivot-peers', version: '1.0.0' },
      { capabilities, taskStore: peer.#tasks },
    );
    const handle = (schema, method) =>
      peer.client.setRequestHandler(schema, ({ params }, extra) => peer.answers[method](params, extra));
    if (capabilities.sampling) handle(CreateMessageRequestSchema, 'sampling/createMessage');
    if (capabilities.elicitation) handle(ElicitRequestSchema, 'elicitation/create');
    if (capabilities.roots) handle(ListRootsRequestSchema, 'roots/list');
    try {
      await peer.client.connect(transport);
    } catch (error) {
      error.message += peer.#stderr.end();
      throw error;
    }
    peer.pid = transport.pid;
    return peer;
  }

  /** Calls a tool; a failure is also a value. */
  call(name, args, options) {
    return attempt(() => this.client.callTool({ name, arguments: args }, undefined, options));
  }

  async close() {
    await this.client.close();
    this.#tasks?.cleanup();
    this.#stderr.check();
  }
}

/** The result of an action, or how it fails, as something to compare. */
export async function attempt(action) {
  try {
    return await action();
  } catch ({ name, code, message, data }) {
    return { failed: { name, code, message, data } };
  }
}

/** The command as a Peer with `tap` needs it. */
export const prepared = (command, { tap } = {}) => (tap ? tapped(command) : command);
