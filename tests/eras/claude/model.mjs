// Stands in for the model of Claude Code: an endpoint that answers as a script says, so that neither an account nor
// a network is needed.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';

const events = ({ content, stop_reason }, message) => [
  { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
  {
    type: 'content_block_start',
    index: 0,
    content_block: content.type === 'text' ? { ...content, text: '' } : { ...content, input: {} },
  },
  ...(content.type === 'text'
    ? [{ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: content.text } }]
    : [{ type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: JSON.stringify(content.input) } }]),
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 1 } },
  { type: 'message_stop' },
];

export const use = (name, input = {}) => ({
  content: { type: 'tool_use', id: 'toolu_1', name, input },
  stop_reason: 'tool_use',
});
export const say = (text) => ({ content: { type: 'text', text }, stop_reason: 'end_turn' });
/** What tools have answered so far, in order. */
export const tool_results = ({ messages = [] }) =>
  messages.flatMap(({ content }) => (Array.isArray(content) ? content : [])).filter(({ type }) => type === 'tool_result');

/** An endpoint that returns the result of `turn`, which gets the request: use() or say(). */
export async function start_model(turn) {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    if (!request.url.startsWith('/v1/messages')) return response.writeHead(404).end();
    const asked = JSON.parse(body);
    if (request.url.includes('count_tokens')) return response.end(JSON.stringify({ input_tokens: 1 }));
    const next = await turn(asked);
    const message = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: asked.model,
      stop_sequence: null,
      usage: { input_tokens: 1, output_tokens: 1 },
    };
    if (!asked.stream) {
      response.setHeader('content-type', 'application/json');
      return response.end(JSON.stringify({ ...message, content: [next.content], stop_reason: next.stop_reason }));
    }
    response.setHeader('content-type', 'text/event-stream');
    for (const event of events(next, message)) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    response.end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

/** Runs Claude Code to its end, in this folder, with the servers of a file; returns everything that it prints. */
export async function run_claude(claude, { folder, config, allowed, model, limit = 90_000 }) {
  const client = spawn(
    claude,
    ['-p', 'Call the tool.', '--mcp-config', config, '--strict-mcp-config', '--allowedTools', allowed],
    {
      cwd: folder,
      env: {
        PATH: process.env.PATH,
        HOME: folder,
        ANTHROPIC_BASE_URL: model.url,
        ANTHROPIC_API_KEY: 'none',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
        ENABLE_TOOL_SEARCH: 'false',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let printed = '';
  for (const stream of [client.stdout, client.stderr]) stream.setEncoding('utf8').on('data', (text) => (printed += text));
  const timer = setTimeout(() => client.kill('SIGKILL'), limit);
  await once(client, 'close');
  clearTimeout(timer);
  return printed.trim();
}
