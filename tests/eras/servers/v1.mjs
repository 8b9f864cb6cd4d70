// A server on version 1 of the SDK: it supports only the legacy era, and asks its client with its own requests.
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  CreateMessageResultSchema,
  ElicitResultSchema,
  ListRootsResultSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { add_features, capabilities } from './features.mjs';
import { sessions } from './sessions.mjs';

const answer_to = {
  'elicitation/create': ElicitResultSchema,
  'sampling/createMessage': CreateMessageResultSchema,
  'roots/list': ListRootsResultSchema,
};

const dialect = {
  ResourceTemplate,
  completable,
  arguments: (shape) => shape,
  async interview(extra, questions, finish) {
    const answers = [];
    for (const question of questions) {
      const request = await question(answers);
      answers.push(await extra.sendRequest(request, answer_to[request.method]));
    }
    return finish(answers);
  },
  progress: async ({ _meta, sendNotification }, progress, total) =>
    _meta?.progressToken !== undefined &&
    sendNotification({
      method: 'notifications/progress',
      params: { progressToken: _meta.progressToken, progress, total },
    }),
  log: ({ sendNotification }, level, data) => sendNotification({ method: 'notifications/message', params: { level, data } }),
  signal: ({ signal }) => signal,
};

function make(world) {
  const server = new McpServer({ name: 'eras-v1', version: '1.0.0' }, { capabilities });
  const subscribed = new Set();
  server.server.setRequestHandler(SubscribeRequestSchema, ({ params }) => (subscribed.add(params.uri), {}));
  server.server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => (subscribed.delete(params.uri), {}));
  world.session(server.server, {
    ...add_features(server, dialect, world),
    updated: (uri) => subscribed.has(uri) && server.server.sendResourceUpdated({ uri }),
  });
  return server;
}

export const stdio = (world) => make(world).connect(new StdioServerTransport());
export const http = (world) => sessions(StreamableHTTPServerTransport, () => make(world));
