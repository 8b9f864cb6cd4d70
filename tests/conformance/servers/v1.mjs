// A server on version 1 of the SDK: it supports only the legacy era, and asks its client with its own requests.
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  CreateMessageResultSchema,
  ElicitResultSchema,
  ErrorCode,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListRootsResultSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { capabilities, completions, extra_prompt, extra_tool, prompts, resources, template, tools } from './features.mjs';
import { sessions } from './sessions.mjs';

const answer_to = {
  'elicitation/create': ElicitResultSchema,
  'sampling/createMessage': CreateMessageResultSchema,
  'roots/list': ListRootsResultSchema,
};

function make() {
  const server = new Server({ name: 'conformance-v1', version: '1.0.0' }, { capabilities });
  const extra = { tools: false, prompts: false };
  const all_tools = () => [...tools, ...(extra.tools ? [extra_tool] : [])];
  const all_prompts = () => [...prompts, ...(extra.prompts ? [extra_prompt] : [])];
  const tell = { tools: () => server.sendToolListChanged(), prompts: () => server.sendPromptListChanged() };

  const context = ({ _meta, sendRequest, sendNotification, closeSSEStream }) => ({
    capabilities: () => server.getClientCapabilities(),
    async interview(rounds, finish) {
      const answers = {};
      for (const round of rounds)
        await Promise.all(
          Object.entries(round).map(async ([key, request]) => {
            answers[key] = await sendRequest(request, answer_to[request.method]);
          }),
        );
      return finish(answers);
    },
    progress: async (progress, total) =>
      _meta?.progressToken !== undefined &&
      sendNotification({ method: 'notifications/progress', params: { progressToken: _meta.progressToken, progress, total } }),
    log: (level, data) => sendNotification({ method: 'notifications/message', params: { level, data } }),
    close_stream: () => closeSSEStream?.(),
    change(what) {
      extra[what] = !extra[what];
      tell[what]();
    },
  });
  const find = (list, name) => {
    const found = list.find((one) => one.name === name);
    if (!found) throw new McpError(ErrorCode.InvalidParams, `Unknown: ${name}`);
    return found;
  };

  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: all_tools().map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
  }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }, more) =>
    find(all_tools(), params.name).handle(params.arguments ?? {}, context(more)),
  );
  server.setRequestHandler(ListPromptsRequestSchema, () => ({
    prompts: all_prompts().map(({ name, takes }) => ({
      name,
      description: `The suite's prompt ${name}.`,
      arguments: takes.map((argument) => ({ name: argument, required: true })),
    })),
  }));
  server.setRequestHandler(GetPromptRequestSchema, ({ params }, more) =>
    find(all_prompts(), params.name).handle(params.arguments ?? {}, context(more)),
  );
  server.setRequestHandler(CompleteRequestSchema, ({ params }) => ({
    completion: { values: completions(params.argument.value) },
  }));
  server.setRequestHandler(ListResourcesRequestSchema, () => ({
    resources: resources.map(({ uri, mimeType }) => ({ uri, mimeType, name: uri, description: `The resource ${uri}.` })),
  }));
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [{ uriTemplate: template.uri, mimeType: template.mimeType, name: 'template' }],
  }));
  server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }) => {
    const found = resources.find((one) => one.uri === uri);
    if (found) return { contents: [found] };
    const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
    if (id) return { contents: [{ uri, mimeType: template.mimeType, text: template.read(id) }] };
    throw new McpError(-32002, `There is no resource ${uri}`, { uri });
  });
  server.setRequestHandler(SubscribeRequestSchema, () => ({}));
  server.setRequestHandler(UnsubscribeRequestSchema, () => ({}));
  return server;
}

export const stdio = () => make().connect(new StdioServerTransport());
export const http = () => sessions(StreamableHTTPServerTransport, make);
