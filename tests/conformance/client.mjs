// The client that the conformance suite tests: client.mjs URL, with the scenario in the suite's variables.
//
// With MCPIVOT set, the client talks to `mcpivot --url URL` over stdio, so that it is mcpivot whose HTTP side is
// tested; without it the client goes to the URL itself.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const url = process.argv.at(-1);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
const version = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION;
const modern = version === '2026-07-28';
const mcpivot = process.env.MCPIVOT;
const { toolCalls, client_id, client_secret } = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');

const client = new Client(
  { name: 'mcpivot-conformance', version: '1.0.0' },
  {
    capabilities: { elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: {} },
    versionNegotiation: { mode: modern ? { pin: version } : 'legacy' },
  },
);
const confirmed = { action: 'accept', content: { confirmed: true } };
client.setRequestHandler('elicitation/create', ({ params }) =>
  params.requestedSchema.properties.confirmed ? confirmed : { action: 'accept', content: {} },
);

/** The suite's own name for a client that describes itself; nobody fetches it. */
const described = 'https://conformance-test.local/client-metadata.json';
function server_arguments() {
  if (scenario === 'auth/basic-cimd') return ['--url', url, '--client-metadata-url', described];
  if (!client_secret) return ['--url', url];
  const file = join(mkdtempSync(join(process.env.XDG_STATE_HOME, 'config-')), 'mcpivot.json');
  writeFileSync(file, JSON.stringify({ mcpServers: { app: { url, oauth: { client_id, client_secret } } } }), { mode: 0o600 });
  return ['--config', file];
}
const args = mcpivot ? ['--front', modern ? 'modern' : 'legacy', ...server_arguments()] : [];
await client.connect(
  mcpivot
    ? new StdioClientTransport({ command: mcpivot, args, env: process.env })
    : new StreamableHTTPClientTransport(new URL(url)),
);

/** The lists that the server announces. */
const capabilities = client.getServerCapabilities() ?? {};
const list = async (kind, method) => (capabilities[kind] ? (await client[method]())[kind] : []);
/** mcpivot's own are not part of the suite; and it doesn't wait for a slow server. */
async function list_tools() {
  const has_none = scenario === 'initialize' || scenario === 'request-metadata';
  for (const end = Date.now() + 10_000; ; await sleep(50)) {
    const tools = ((await client.listTools()).tools ?? []).filter(({ name }) => !name.startsWith('pivot_'));
    if (tools.length > 0 || has_none || Date.now() > end) return tools;
  }
}
const tools = await list_tools();
const call = (name, given = {}) => client.callTool({ name, arguments: given }, { timeout: 20_000 });

const example = { string: 'text', number: 1, integer: 1, boolean: true };
const examples = ({ properties = {}, required = [] }) =>
  Object.fromEntries(required.map((name) => [name, example[properties[name]?.type] ?? {}]));

const steps = {
  async tools_call() {
    await call('add_numbers', { a: 2, b: 3 });
  },
  async 'json-schema-2020-12-preservation'() {
    const { inputSchema } = tools.find(({ name }) => name === 'json_schema_2020_12_tool');
    await call('json_schema_echo', { schema: inputSchema });
  },
  // Both calls at once: what the one is asked must not arrive with the other.
  async 'sep-2322-client-request-state'() {
    await Promise.all([call('test_mrtr_echo_state'), call('test_mrtr_unrelated')]);
    await call('test_mrtr_no_state');
    await call('test_mrtr_no_result_type');
  },
  async 'http-custom-headers'() {
    for (const { name, arguments: given } of toolCalls) await call(name, given);
  },
  async 'json-schema-ref-no-deref'() {},
  async 'request-metadata'() {},
};
/** Everything that is listed, once. */
async function everything() {
  for (const { name, inputSchema } of tools) await call(name, examples(inputSchema));
  for (const { name } of await list('prompts', 'listPrompts')) await client.getPrompt({ name });
  for (const { uri } of await list('resources', 'listResources')) await client.readResource({ uri });
}
await (steps[scenario] ?? everything)();
await client.close();
