// Streamable HTTP with sessions, as the legacy era has it: the same for both major versions of the SDK.
import { randomUUID } from 'node:crypto';

export async function body_of(request) {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  return text === '' ? undefined : JSON.parse(text);
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
        onsessioninitialized: (created) => open.set(created, transport),
      });
      await make().connect(transport);
    }
    await transport.handleRequest(request, response, body);
  };
}
