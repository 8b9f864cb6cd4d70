// A server on version 2 of the SDK. It asks its client with `input_required`; in the legacy era the SDK makes
// requests from that.
import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from '@modelcontextprotocol/node';
import {
  completable,
  createMcpHandler,
  inputRequired,
  isLegacyRequest,
  McpServer,
  ResourceTemplate,
} from '@modelcontextprotocol/server';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { add_features, capabilities } from './features.mjs';
import { sessions } from './sessions.mjs';

const dialect = {
  ResourceTemplate,
  completable,
  arguments: (shape) => z.object(shape),
  /** The answers so far are in `requestState`: nothing is kept here between two rounds. */
  async interview({ mcpReq }, questions, finish) {
    const answers = JSON.parse(mcpReq.requestState() ?? '[]');
    if (mcpReq.inputResponses?.answer) answers.push(mcpReq.inputResponses.answer);
    if (answers.length === questions.length) return finish(answers);
    return inputRequired({
      inputRequests: { answer: await questions[answers.length](answers) },
      requestState: JSON.stringify(answers),
    });
  },
  progress: async ({ mcpReq }, progress, total) =>
    mcpReq._meta?.progressToken !== undefined &&
    mcpReq.notify({
      method: 'notifications/progress',
      params: { progressToken: mcpReq._meta.progressToken, progress, total },
    }),
  log: ({ mcpReq }, level, data) => mcpReq.log(level, data),
  signal: ({ mcpReq }) => mcpReq.signal,
};

function make(world, era, { session = true } = {}) {
  const server = new McpServer({ name: 'eras-v2', version: '2.0.0' }, { capabilities });
  const subscribed = new Set();
  server.server.setRequestHandler('resources/subscribe', ({ params }) => (subscribed.add(params.uri), {}));
  server.server.setRequestHandler('resources/unsubscribe', ({ params }) => (subscribed.delete(params.uri), {}));
  const features = add_features(server, dialect, world);
  // In the modern era the SDK keeps the subscriptions.
  const updated = (uri) => (era === 'modern' || subscribed.has(uri)) && server.server.sendResourceUpdated({ uri });
  if (session) world.session(server.server, { ...features, updated });
  return server;
}

/** `eras` is legacy, modern or dual. */
export function stdio(world, eras) {
  if (eras === 'legacy') return make(world, 'legacy').connect(new StdioServerTransport());
  return serveStdio(({ era }) => make(world, era), { legacy: eras === 'dual' ? 'serve' : 'reject' });
}

export function http(world, eras) {
  const legacy = sessions(NodeStreamableHTTPServerTransport, () => make(world, 'legacy'));
  if (eras === 'legacy') return legacy;
  const modern = createMcpHandler(() => make(world, 'modern', { session: false }), { legacy: 'reject' });
  world.notify = modern.notify;
  const serve_modern = toNodeHandler(modern);
  if (eras === 'modern') return serve_modern;
  return async (request, response, body) =>
    (await isLegacyRequest(await toWebRequest(request, body), body))
      ? legacy(request, response, body)
      : serve_modern(request, response, body);
}
