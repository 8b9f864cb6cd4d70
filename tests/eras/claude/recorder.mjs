// A server of both eras, written by hand, that answers `server/discover` as its argument says and writes down each
// line that it reads (<) and writes (>), with the milliseconds since its start, to the file in RECORD. After a + the
// argument says what a modern server does otherwise than a client would expect.
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [answer_to_discover, twist] = process.argv[2].split('+');
const began = performance.now();
const record = (direction, line) =>
  appendFileSync(process.env.RECORD, `${process.pid} ${Math.round(performance.now() - began)} ${direction} ${line}\n`);
const send = (message) => {
  const line = JSON.stringify({ jsonrpc: '2.0', ...message });
  record('>', line);
  process.stdout.write(`${line}\n`);
};

const info = { name: 'recorder', version: '1.0.0' };
const capabilities = {
  tools: { listChanged: twist !== 'no-changes' },
  ...(twist !== 'no-changes' && { prompts: { listChanged: true }, resources: { listChanged: true, subscribe: true } }),
};
const discovered = (...supportedVersions) => ({
  result: {
    resultType: 'complete',
    supportedVersions,
    capabilities,
    ttlMs: 0,
    cacheScope: 'private',
    _meta: { 'io.modelcontextprotocol/serverInfo': info },
  },
});
const unsupported = (...supported) => ({
  error: { code: -32022, message: 'Unsupported protocol version', data: { supported, requested: '2026-07-28' } },
});
const discover = {
  modern: discovered('2026-07-28'),
  both: discovered('2026-07-28', '2025-11-25'),
  legacy: discovered('2025-11-25'),
  'no-method': { error: { code: -32601, message: 'Method not found' } },
  'unsupported-legacy': unsupported('2025-11-25'),
  'unsupported-modern': unsupported('2026-07-28'),
  silence: undefined,
  exit: undefined,
}[answer_to_discover];

const tool = (name) => ({ name, description: `The tool ${name}.`, inputSchema: { type: 'object', properties: {} } });
const form = {
  mode: 'form',
  message: 'Who are you?',
  requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
};
let tools = [tool('ask')];
let listening;
let asking; // the legacy call that waits for the client's answer

const list = (modern, field, items) => ({
  result: { [field]: items, ...(modern && { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }) },
});
/** One more tool, announced before the call is answered. */
function change_tools() {
  tools = [tool('ask'), tool('another')];
  const _meta = { 'io.modelcontextprotocol/subscriptionId': listening };
  send({ method: 'notifications/tools/list_changed', ...(listening !== undefined && { params: { _meta } }) });
}

function listen(id, notifications) {
  listening = id;
  const _meta = { 'io.modelcontextprotocol/subscriptionId': id };
  send({ method: 'notifications/subscriptions/acknowledged', params: { notifications, _meta } });
  if (twist === 'listen-ended') setTimeout(() => send({ id, result: { resultType: 'complete', _meta } }), 100);
}

function handle(message) {
  const { id, method, params } = message;
  const modern = params?._meta?.['io.modelcontextprotocol/protocolVersion'] !== undefined;
  const answer = (body) => send({ id, ...body });
  const said = (text) => ({ result: { content: [{ type: 'text', text }], ...(modern && { resultType: 'complete' }) } });
  switch (method) {
    case 'server/discover':
      if (answer_to_discover === 'exit') process.exit(1);
      return discover && answer(discover);
    case 'initialize':
      return answer({ result: { protocolVersion: params.protocolVersion, capabilities, serverInfo: info } });
    case 'tools/list':
      return answer(list(modern, 'tools', tools));
    case 'prompts/list':
      return answer(list(modern, 'prompts', []));
    case 'resources/list':
      return answer(list(modern, 'resources', []));
    case 'resources/templates/list':
      return answer(list(modern, 'resourceTemplates', []));
    case 'subscriptions/listen':
      if (twist === 'listen-unacknowledged') return undefined;
      if (twist === 'listen-refused') return answer({ error: { code: -32601, message: 'Method not found' } });
      return listen(id, params.notifications);
    case 'tools/call':
      if (!modern) {
        asking = answer;
        return send({ id: 'question', method: 'elicitation/create', params: form });
      }
      if (params.requestState === undefined)
        return answer({
          result: {
            resultType: 'input_required',
            inputRequests: { who: { method: 'elicitation/create', params: form } },
            requestState: 'state-1',
          },
        });
      if (twist === 'question') send({ id: 'question', method: 'elicitation/create', params: form });
      change_tools();
      // With a twist, long enough to see how the client reacts.
      return setTimeout(() => answer(said(`answered: ${JSON.stringify(params.inputResponses)}`)), twist ? 12_000 : 0);
    case undefined: // the answer to a legacy question
      change_tools();
      return asking({ result: { content: [{ type: 'text', text: JSON.stringify(message.result ?? message.error) }] } });
    default:
      if (id !== undefined) answer(method === 'ping' ? { result: {} } : { error: { code: -32601, message: 'Method not found' } });
  }
}

record('*', `started, answers server/discover with "${process.argv[2]}"`);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.on(signal, () => {
    record('*', signal);
    process.exit(0);
  });
createInterface(process.stdin)
  .on('line', (line) => {
    record('<', line);
    handle(JSON.parse(line));
  })
  .on('close', () => record('*', 'end of input'));
