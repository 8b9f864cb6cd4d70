// A server on version 2 of the SDK, only in the modern era. It asks its client with `input_required`.
import { randomBytes } from 'node:crypto';
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  completable,
  createMcpHandler,
  createRequestStateCodec,
  fromJsonSchema,
  inputRequired,
  McpServer,
  ResourceTemplate,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { capabilities, completions, extra_prompt, extra_tool, prompts, resources, template, tools } from './features.mjs';

const codec = createRequestStateCodec({ key: randomBytes(32) });
const is_object = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/** What is added and removed. Over HTTP an instance of the SDK's server lives for one request, so it is kept here. */
const extra = { tools: false, prompts: false };

function make(change) {
  const server = new McpServer(
    { name: 'conformance-v2', version: '2.0.0' },
    { capabilities, requestState: { verify: codec.verify } },
  );

  const context = ({ mcpReq }) => ({
    capabilities: () => mcpReq.envelope?.['io.modelcontextprotocol/clientCapabilities'],
    /** The answers so far are in `requestState`: nothing is kept here between two rounds. */
    async interview(rounds, finish, { stateful = false } = {}) {
      let { round, answers } = mcpReq.requestState() ?? { round: 0, answers: {} };
      const given = mcpReq.inputResponses;
      if (Object.keys(rounds[round]).every((key) => is_object(given?.[key]))) {
        for (const key of Object.keys(rounds[round])) answers[key] = given[key];
        if (++round === rounds.length) return finish(answers);
      }
      return inputRequired({
        inputRequests: rounds[round],
        ...(stateful && { requestState: await codec.mint({ round, answers }) }),
      });
    },
    progress: async (progress, total) =>
      mcpReq._meta?.progressToken !== undefined &&
      mcpReq.notify({ method: 'notifications/progress', params: { progressToken: mcpReq._meta.progressToken, progress, total } }),
    log: (level, data) => mcpReq.log(level, data),
    close_stream() {},
    change(what) {
      extra[what] = !extra[what];
      change(what);
    },
  });
  const add_tool = ({ name, description, inputSchema, handle }) =>
    server.registerTool(name, { description, inputSchema: fromJsonSchema(inputSchema) }, (args, more) =>
      handle(args, context(more)),
    );
  const add_prompt = ({ name, takes, handle }) =>
    takes.length > 0
      ? server.registerPrompt(
          name,
          {
            description: `The suite's prompt ${name}.`,
            argsSchema: z.object(Object.fromEntries(takes.map((one) => [one, completable(z.string(), completions)]))),
          },
          (args, more) => handle(args, context(more)),
        )
      : server.registerPrompt(name, { description: `The suite's prompt ${name}.` }, (more) => handle({}, context(more)));

  tools.forEach(add_tool);
  prompts.forEach(add_prompt);
  for (const one of resources)
    server.registerResource(one.uri, one.uri, { mimeType: one.mimeType, description: `The resource ${one.uri}.` }, () => ({
      contents: [one],
    }));
  server.registerResource(
    'template',
    new ResourceTemplate(template.uri, { list: undefined }),
    { mimeType: template.mimeType },
    (uri, { id }) => ({ contents: [{ uri: uri.href, mimeType: template.mimeType, text: template.read(id) }] }),
  );

  const shown = {};
  const add = { tools: () => add_tool(extra_tool), prompts: () => add_prompt(extra_prompt) };
  const show = (what) => {
    if (extra[what]) shown[what] = add[what]();
    else shown[what]?.remove();
  };
  if (extra.tools) show('tools');
  if (extra.prompts) show('prompts');
  return { server, show };
}

export function stdio() {
  // An instance for each connection, of which stdio has one; and it tells its client what it adds.
  return serveStdio(
    () => {
      const made = make((what) => made.show(what));
      return made.server;
    },
    { legacy: 'reject' },
  );
}

export function http() {
  const handler = createMcpHandler(
    () => make((what) => (what === 'tools' ? handler.notify.toolsChanged() : handler.notify.promptsChanged())).server,
    { legacy: 'reject' },
  );
  return toNodeHandler(handler);
}
