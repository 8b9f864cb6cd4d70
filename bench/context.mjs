// What five real servers cost a model's context: natively, and through mcpivot with none and with one of them
// active. Counted is what a client gives to the model: the definitions of the tools, and the instructions.
//
//   ./dev bench context [--check]
//
// --check fails if mcpivot costs more than 2,500 bytes with none active.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const most_bytes_with_none = 2500;
const patience = 60_000;

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const require = createRequire(here('../tests/peers/package.json'));
const { encode } = require('gpt-tokenizer');

const options = process.argv.slice(2);
if (options.some((option) => option !== '--check')) {
  console.error('usage: ./dev bench context [--check]');
  process.exit(2);
}

// --- the servers -------------------------------------------------------------------------------------------

const folder = mkdtempSync(join(tmpdir(), 'mcpivot-context-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

function program(name) {
  const home = here(`../tests/peers/node_modules/${name}`);
  const { bin } = require(join(home, 'package.json'));
  return join(home, typeof bin === 'string' ? bin : Object.values(bin)[0]);
}
const server = (name, ...args) => ({ command: process.execPath, args: [program(name), ...args] });
const servers = {
  everything: server('@modelcontextprotocol/server-everything', 'stdio'),
  filesystem: server('@modelcontextprotocol/server-filesystem', folder),
  memory: {
    ...server('@modelcontextprotocol/server-memory'),
    env: { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') },
  },
  'sequential-thinking': server('@modelcontextprotocol/server-sequential-thinking'),
  playwright: server('@playwright/mcp'),
};

// --- a client ----------------------------------------------------------------------------------------------

/** As small as possible, so that nothing is changed on the way. */
class Client {
  #id = 0;
  #open = new Map();

  constructor({ command, args, env }) {
    this.#child = spawn(command, args, {
      env: { ...process.env, XDG_CACHE_HOME: '/dev/null', XDG_STATE_HOME: folder, ...env },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.#read(JSON.parse(line)));
  }
  #child;
  #read(message) {
    if (message.method === undefined) {
      this.#open.get(message.id)?.(message);
    } else if (message.method === 'roots/list') {
      this.#send({ id: message.id, result: { roots: [{ uri: `file://${folder}` }] } });
    }
  }
  #send(message) {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }
  ask(method, params) {
    const id = ++this.#id;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no answer to ${method} in a minute`)), patience);
      this.#open.set(id, ({ result, error }) => {
        clearTimeout(timer);
        if (error) reject(new Error(`${method}: ${error.message}`));
        else resolve(result);
      });
      this.#send({ id, method, params });
    });
  }
  async hello() {
    const { instructions } = await this.ask('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: { roots: { listChanged: true }, sampling: {}, elicitation: { form: {}, url: {} } },
      clientInfo: { name: 'context-bench', version: '1' },
    });
    this.#send({ method: 'notifications/initialized' });
    return instructions ?? '';
  }
  async tools() {
    const tools = [];
    for (let cursor; ;) {
      const page = await this.ask('tools/list', cursor === undefined ? {} : { cursor });
      tools.push(...page.tools);
      if ((cursor = page.nextCursor) === undefined) return tools;
    }
  }
  async call(name, args) {
    const { content } = await this.ask('tools/call', { name, arguments: args });
    return content.at(-1).text;
  }
  stop() {
    this.#child.stdin.end();
    this.#child.kill();
  }
}

// --- counting ----------------------------------------------------------------------------------------------

function cost(tools, instructions) {
  const text = JSON.stringify(tools) + instructions;
  return { tools: tools.length, bytes: Buffer.byteLength(text), tokens: encode(text).length };
}
const sum = (costs) =>
  costs.reduce((all, one) => ({
    tools: all.tools + one.tools,
    bytes: all.bytes + one.bytes,
    tokens: all.tokens + one.tokens,
  }));

async function natively(description) {
  const client = new Client(description);
  const instructions = await client.hello();
  const found = cost(await client.tools(), instructions);
  client.stop();
  return found;
}

/** Through mcpivot, when all have started; `active` is the name of one of them, or undefined. */
async function through_mcpivot(active) {
  const entries = Object.entries(servers).map(([name, entry]) => [
    name,
    { ...entry, active: name === active },
  ]);
  const file = join(folder, 'mcpivot.json');
  const config = JSON.stringify({ mcpServers: Object.fromEntries(entries) });
  writeFileSync(file, config);
  // The instructions of a server are known once it has started once, as in a client's second session.
  const mcpivot = {
    command: here('../build/release/mcpivot'),
    args: ['--config', file],
    env: { XDG_CACHE_HOME: folder },
  };
  let found;
  for (const _ of ['learn', 'measure']) {
    const client = new Client(mcpivot);
    const instructions = await client.hello();
    const end = Date.now() + patience;
    while ((await client.call('pivot_status', {})).match(/active, ready/g)?.length !== entries.length) {
      if (Date.now() > end)
        throw new Error(`not all servers start:\n${await client.call('pivot_status', {})}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    found = cost(await client.tools(), instructions);
    client.stop();
  }
  return found;
}

// --- the table ---------------------------------------------------------------------------------------------

const row = (what, { tools, bytes, tokens }, share = '') =>
  console.log(
    what.padEnd(44) +
      String(tools).padStart(7) +
      bytes.toLocaleString('en').padStart(10) +
      tokens.toLocaleString('en').padStart(10) +
      share.padStart(9),
  );

const version = (name) => require(here(`../tests/peers/node_modules/${name}/package.json`)).version;
console.log(
  `tools/list and instructions; tokens by gpt-tokenizer ${version('gpt-tokenizer')} (o200k_base)\n`,
);
console.log(`${''.padEnd(44)}${'tools'.padStart(7)}${'bytes'.padStart(10)}${'tokens'.padStart(10)}`);
const native = {};
for (const [name, description] of Object.entries(servers)) {
  native[name] = await natively(description);
  row(`  ${name}`, native[name]);
}
const all = sum(Object.values(native));
row('natively, all five', all, '100%');
const share = ({ tokens }) => `${((100 * tokens) / all.tokens).toFixed(1)}%`;
const none = await through_mcpivot();
row('through mcpivot, none active', none, share(none));
for (const name of Object.keys(servers)) {
  const one = await through_mcpivot(name);
  row(`through mcpivot, ${name} active`, one, share(one));
}
const good = none.bytes <= most_bytes_with_none;
console.log(`\n${good ? 'PASS' : 'FAIL'} at most ${most_bytes_with_none} bytes with none active`);
process.exit(options.includes('--check') && !good ? 1 : 0);
