// What Claude Code does for each answer to `server/discover`: the messages that a recording server reads and writes.
//   node measure.mjs PATH-TO-CLAUDE [CASE…]
// No account and no network: a scripted endpoint stands in for the model. It calls the server's tool once, then ends.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const cases = [
  ...['modern', 'both', 'legacy', 'no-method', 'unsupported-legacy', 'unsupported-modern', 'silence', 'exit'],
  ...['no-changes', 'listen-refused', 'listen-unacknowledged', 'listen-ended', 'question'].map((twist) => `modern+${twist}`),
];
const [claude, ...chosen] = process.argv.slice(2);
const recorder = fileURLToPath(new URL('recorder.mjs', import.meta.url));

/** The next thing that the model does: call the tool, if it is offered and wasn't called; else end. */
function turn({ tools = [], messages = [] }) {
  const blocks = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
  const called = blocks.some(({ type }) => type === 'tool_result');
  const name = tools.map((each) => each.name).find((each) => each?.endsWith('__ask'));
  if (name && !called) return { content: { type: 'tool_use', id: 'toolu_1', name, input: {} }, stop_reason: 'tool_use' };
  return { content: { type: 'text', text: called ? 'Done.' : 'There is no such tool.' }, stop_reason: 'end_turn' };
}

const events = ({ content, stop_reason }, message) => [
  { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
  { type: 'content_block_start', index: 0, content_block: content.type === 'text' ? { ...content, text: '' } : content },
  ...(content.type === 'text'
    ? [{ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: content.text } }]
    : [{ type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{}' } }]),
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 1 } },
  { type: 'message_stop' },
];

/** The tools of the server that the model was offered, request by request. */
const offered = [];
const model = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += chunk;
  if (!request.url.startsWith('/v1/messages')) return response.writeHead(404).end();
  const asked = JSON.parse(body);
  if (request.url.includes('count_tokens')) return response.end(JSON.stringify({ input_tokens: 1 }));
  const next = turn(asked);
  if (asked.tools?.length)
    offered.push(asked.tools.map(({ name }) => name).filter((name) => name?.startsWith('mcp__')));
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
await once(model, 'listening');

for (const each of chosen.length > 0 ? chosen : cases) {
  const folder = mkdtempSync(join(tmpdir(), 'mcpivot-claude-'));
  const record = join(folder, 'record');
  const config = join(folder, 'mcp.json');
  writeFileSync(record, '');
  writeFileSync(
    config,
    JSON.stringify({
      mcpServers: { recorder: { command: process.execPath, args: [recorder, each], env: { RECORD: record } } },
    }),
  );
  offered.length = 0;
  const began = performance.now();
  const client = spawn(
    claude,
    ['-p', 'Call the tool.', '--mcp-config', config, '--strict-mcp-config', '--allowedTools', 'mcp__recorder__ask'],
    {
      cwd: folder,
      env: {
        PATH: process.env.PATH,
        HOME: folder,
        ANTHROPIC_BASE_URL: `http://127.0.0.1:${model.address().port}`,
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
  const timer = setTimeout(() => client.kill('SIGKILL'), 90_000);
  await once(client, 'close');
  clearTimeout(timer);
  console.log(`== ${each}: ended after ${Math.round(performance.now() - began)} ms, printed ${JSON.stringify(printed.trim())}`);
  for (const tools of offered) console.log(`   model offered ${JSON.stringify(tools)}`);
  process.stdout.write(readFileSync(record, 'utf8'));
  rmSync(folder, { recursive: true, force: true });
}
model.close();
