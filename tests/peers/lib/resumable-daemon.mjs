// An HTTP daemon made with the SDK: sessions, and streams that can be resumed. `count` has an effect, `read` has
// none, `drop` breaks its own stream off and answers later, `arrivals` returns what arrived in which order.
//
// usage: node resumable-daemon.mjs PORT
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const arrivals = [];
let counted = 0;

/** Events of all streams, in order; an event's id names its stream. */
class Events {
  #events = [];
  async storeEvent(stream, message) {
    const id = `${stream}_${this.#events.length}`;
    this.#events.push({ id, stream, message });
    return id;
  }
  async getStreamIdForEventId(id) {
    return this.#events.find((event) => event.id === id)?.stream;
  }
  async replayEventsAfter(last, { send }) {
    const at = this.#events.findIndex((event) => event.id === last);
    const { stream } = this.#events[at];
    for (const event of this.#events.slice(at + 1))
      if (event.stream === stream && Object.keys(event.message).length > 0) await send(event.id, event.message);
    return stream;
  }
}

const tool = (name, readOnlyHint) => ({ name, inputSchema: { type: 'object' }, annotations: { readOnlyHint } });
const text = (words) => ({ content: [{ type: 'text', text: String(words) }] });

function make_server() {
  const server = new Server({ name: 'resumable', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [tool('count', false), tool('read', true), tool('drop', false), tool('arrivals', true)],
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params: { name, arguments: given = {} } }, extra) => {
    if (name === 'arrivals') return text(arrivals.join(' '));
    arrivals.push(given.text);
    if (name === 'count') return text(++counted);
    if (name === 'drop') {
      extra.closeSSEStream();
      await new Promise((resolve) => setTimeout(resolve, 100));
      return text('dropped and found');
    }
    return text(given.text);
  });
  return server;
}

const transports = new Map();

async function transport_for(request) {
  const id = request.headers['mcp-session-id'];
  if (id) return transports.get(id);
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    eventStore: new Events(),
    retryInterval: 50,
    onsessioninitialized: (session) => transports.set(session, transport),
  });
  await make_server().connect(transport);
  return transport;
}

createServer(async (request, response) => {
  const transport = await transport_for(request);
  if (!transport) return response.writeHead(404).end('no such session');
  await transport.handleRequest(request, response);
}).listen(Number(process.argv[2]), '127.0.0.1');
