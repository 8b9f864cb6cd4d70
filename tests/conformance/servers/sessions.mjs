// Streamable HTTP with sessions, as the legacy era has it, with streams that can be resumed.
import { randomUUID } from 'node:crypto';

/** Keeps all events: a run is short. */
class Events {
  #all = [];
  async storeEvent(stream, message) {
    this.#all.push({ stream, message });
    return `${this.#all.length}`;
  }
  async getStreamIdForEventId(id) {
    return this.#all[id - 1]?.stream;
  }
  async replayEventsAfter(id, { send }) {
    const { stream } = this.#all[id - 1];
    for (const [index, event] of this.#all.entries())
      if (index >= Number(id) && event.stream === stream && event.message.jsonrpc) await send(`${index + 1}`, event.message);
    return stream;
  }
}

/** A handler (request, response, body); `make()` gives a server for each new session. */
export function sessions(Transport, make) {
  const open = new Map();
  return async (request, response, body) => {
    const id = request.headers['mcp-session-id'];
    if (id && !open.has(id)) return response.writeHead(404).end();
    if (!id && body?.method !== 'initialize') return response.writeHead(400).end();
    let transport = open.get(id);
    if (!transport) {
      transport = new Transport({
        sessionIdGenerator: randomUUID,
        eventStore: new Events(),
        retryInterval: 500,
        onsessioninitialized: (created) => open.set(created, transport),
        onsessionclosed: (closed) => open.delete(closed),
      });
      await make().connect(transport);
    }
    await transport.handleRequest(request, response, body);
  };
}
