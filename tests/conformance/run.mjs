// The official conformance suite, directly and through mcpivot:
//   ./dev conformance [--only PATTERN] [--jobs N] [--keep FOLDER] [--mcpivot PATH]
// Every scenario that passes directly must pass through mcpivot; a pair of two eras may lack what expected.mjs lists.
// --only: the runs whose names match this regular expression. --keep: leave the suite's reports and mcpivot's logs there.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { excuse } from './expected.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const suite = join(here, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
const revisions = { '2025-11-25': 'legacy', '2026-07-28': 'modern' };
const own_revision = { legacy: '2025-11-25', modern: '2026-07-28' };

const { values } = parseArgs({
  options: {
    mcpivot: { type: 'string', default: process.env.MCPIVOT ?? join(here, '../../build/release/mcpivot') },
    only: { type: 'string', default: '' },
    jobs: { type: 'string', default: String(availableParallelism()) },
    keep: { type: 'string' },
  },
});
const mcpivot = resolve(values.mcpivot);
const folder = values.keep ? resolve(values.keep) : mkdtempSync(join(tmpdir(), 'mcpivot-conformance-'));

// --- processes ---

const running = new Set();
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));
function start(command, args, options = {}) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], cwd: here, ...options });
  running.add(child);
  child.once('close', () => running.delete(child));
  child.output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (child.output = (child.output + text).slice(-4000)));
  return child;
}
async function end(child) {
  if (!child || !running.has(child)) return;
  const closed = once(child, 'close');
  child.kill('SIGTERM');
  await closed;
}
/** The first URL that it prints. */
async function url_of(child, stream) {
  for await (const line of createInterface(stream)) {
    const url = /http:\/\/\S+/.exec(line)?.[0];
    if (url) return url;
  }
  throw new Error(`it ended before it listened: ${child.output}`);
}
/** Nothing of mcpivot's own outlives a run, and no two runs share it. */
function own_folders(name) {
  const env = { ...process.env };
  for (const kind of ['STATE', 'CACHE', 'CONFIG', 'RUNTIME']) {
    const path = join(folder, name, kind.toLowerCase());
    mkdirSync(path, { recursive: true, mode: 0o700 });
    env[kind === 'RUNTIME' ? 'XDG_RUNTIME_DIR' : `XDG_${kind}_HOME`] = path;
  }
  return env;
}

// --- runs ---

/** What the suite found: { scenario: what failed in it, or undefined }. Those that can't be run here are omitted. */
function read_reports(where) {
  const found = {};
  for (const entry of readdirSync(where, { recursive: true })) {
    if (!entry.endsWith('checks.json')) continue;
    const scenario = entry.replace(/\/checks\.json$/, '').replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '');
    if (/^tasks[/-]/.test(scenario)) continue;
    const faults = JSON.parse(readFileSync(join(where, entry), 'utf8'))
      .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
      .map(({ id, errorMessage, description }) => `${id}: ${errorMessage ?? description}`);
    found[scenario] = faults.length > 0 ? faults.join('\n      ') : undefined;
  }
  return found;
}
async function run_suite(name, args, env = process.env) {
  const reports = join(folder, name, 'reports');
  const child = start(process.execPath, [suite, ...args, '-o', reports], { env });
  const timer = setTimeout(() => child.kill('SIGKILL'), 180_000);
  await once(child, 'close');
  clearTimeout(timer);
  try {
    return read_reports(reports);
  } catch {
    throw new Error(`the suite reported nothing: ${child.output}`);
  }
}

/** A first client of this revision: the suite expects servers that run, and whose era is known. */
async function warm_up(url, revision) {
  const meta = { 'io.modelcontextprotocol/protocolVersion': revision, 'io.modelcontextprotocol/clientCapabilities': {} };
  const hello = { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'first', version: '1' } };
  const [method, params] = revisions[revision] === 'modern' ? ['tools/list', { _meta: meta }] : ['initialize', hello];
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'Mcp-Method': method,
      'MCP-Protocol-Version': revision,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    signal: AbortSignal.timeout(60_000),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} was answered ${response.status}: ${text}`);
}

const node = process.execPath;
async function serve_directly(name, { server, revision }) {
  const direct = start(node, ['server.mjs', server, 'http']);
  try {
    return await run_suite(name, ['server', '--url', await url_of(direct, direct.stdout), '--requirements', revision]);
  } finally {
    await end(direct);
  }
}
async function serve_through(name, { server, revision, upstream }) {
  const env = own_folders(name);
  const daemon = upstream === 'http' ? start(node, ['server.mjs', server, 'http']) : undefined;
  let gate;
  try {
    const behind = daemon ? ['--url', await url_of(daemon, daemon.stdout)] : ['--', node, 'server.mjs', server, 'stdio'];
    // A client that only supports the modern era needs it in front of legacy servers.
    const front = server === 'legacy' && revision === own_revision.modern ? ['--front', 'modern'] : [];
    gate = start(mcpivot, ['serve', '--listen', '127.0.0.1:0', ...front, ...behind], { env });
    const url = await url_of(gate, gate.stderr);
    await warm_up(url, revision);
    return await run_suite(name, ['server', '--url', url, '--requirements', revision]);
  } finally {
    await end(gate);
    await end(daemon);
  }
}
/** Those for authorization are only for mcpivot: the client without it has no way to sign in. */
const client_scenarios = (revision, with_authorization) => {
  const requirements = readFileSync(join(suite, '../../requirements', `${revision}.yaml`), 'utf8');
  const [, required] = /^client:\n((?: {2}- .*\n)+)/m.exec(requirements);
  const is_authorization = (name) => name.startsWith('auth/');
  return [
    ...[...required.matchAll(/- (\S+)/g)].map(([, name]) => name).filter((name) => with_authorization || !is_authorization(name)),
    ...[...requirements.matchAll(/- scenario: (\S+)\n\s+leg: client/g)].map(([, name]) => name).filter((name) => !is_authorization(name)),
  ];
};
/** A user whose browser signs in by following redirects. */
function browser(env) {
  const file = join(env.XDG_STATE_HOME, 'browser');
  const open = "fetch(process.argv[1]).then((response) => response.text())";
  writeFileSync(file, `#!/bin/sh\nexec ${process.execPath} -e '${open}' "$1"\n`, { mode: 0o755 });
  return { ...env, BROWSER: file };
}
async function ask(name, { revision }, env) {
  const found = {};
  for (const scenario of client_scenarios(revision, env.MCPIVOT !== '')) {
    const command = `${node} ${join(here, 'client.mjs')}`;
    const args = ['client', '--command', command, '--scenario', scenario, '--spec-version', revision, '--force'];
    Object.assign(found, await run_suite(join(name, scenario), args, env));
  }
  return found;
}
const ask_directly = (name, what) => ask(name, what, { ...process.env, MCPIVOT: '' });
const ask_through = (name, what) => ask(name, what, { ...browser(own_folders(name)), MCPIVOT: mcpivot });

/** Each run through mcpivot is compared with one without it. */
const runs = [];
for (const [revision, era] of Object.entries(revisions)) {
  const direct = { name: `server ${revision} direct`, revision, server: era, run: serve_directly };
  runs.push(direct);
  for (const server of ['legacy', 'modern'])
    for (const upstream of ['stdio', 'http']) {
      const name = `server ${revision} ${server} ${upstream}`;
      runs.push({ name, revision, server, upstream, against: direct.name, run: serve_through });
    }
  runs.push({ name: `client ${revision} direct`, revision, run: ask_directly });
  runs.push({ name: `client ${revision} --url`, revision, against: `client ${revision} direct`, run: ask_through });
}
const wanted = runs.filter(({ name }) => new RegExp(values.only).test(name));
const needed = runs.filter((each) => wanted.includes(each) || wanted.some(({ against }) => against === each.name));

const results = new Map();
const todo = [...needed];
await Promise.all(
  Array.from({ length: Number(values.jobs) }, async () => {
    for (let next; (next = todo.shift()); ) {
      const found = next.run(next.name.replaceAll(' ', '_'), next);
      results.set(next.name, await found.catch(({ message }) => ({ 'the run itself': message })));
    }
  }),
);

// --- the verdict ---

const problems = [];
const count = (found) => `${Object.values(found).filter((fault) => fault === undefined).length} of ${Object.keys(found).length}`;
console.log('| scenarios | passed directly | passed through mcpivot | excused |\n|---|---|---|---|');
for (const { name, revision, server, against } of needed) {
  const found = results.get(name);
  const complain = (scenario, fault) => problems.push(`${name}: ${scenario}\n      ${fault}`);
  if (!against) {
    for (const [scenario, fault] of Object.entries(found)) if (fault !== undefined) complain(scenario, fault);
    if (Object.keys(found).length < 5) complain('the suite', 'has fewer scenarios than it should');
    continue;
  }
  const direct = results.get(against);
  let excused = 0;
  for (const scenario of Object.keys(direct)) {
    const fault = scenario in found ? found[scenario] : 'it was not run';
    const why = excuse(revision, server, scenario);
    if (why && fault === undefined) complain(scenario, `passes, though expected.mjs says that it can't: ${why}`);
    else if (why) ++excused;
    else if (fault !== undefined && direct[scenario] === undefined) complain(scenario, fault);
  }
  for (const [scenario, fault] of Object.entries(found))
    if (/^auth[/-]/.test(scenario) && fault !== undefined) complain(scenario, fault);
  if (found['the run itself']) complain('the run itself', found['the run itself']);
  console.log(`| ${name} | ${count(direct)} | ${count(found)} | ${excused} |`);
}
for (const problem of problems) console.log(`\n  ${problem}`);
if (!values.keep && problems.length === 0) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
else console.log(`\nreports and logs: ${folder}`);
process.exitCode = problems.length > 0 ? 1 : 0;
