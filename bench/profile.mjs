// Where the time of a passing message goes: the instructions that mcpivot spends on one call and its answer, counted by
// callgrind, and the functions that spend them. Counts do not depend on what else the machine does.
//
//   ./dev bench profile [--calls N] [--size BYTES] [--servers N] [--journal]
//
// With --servers, mcpivot has so many in a configuration file, all active, and the calls go to one in the middle. With
// --journal, it writes one; what the journal's own thread spends isn't counted.
// Two runs, with few and with many calls, are subtracted, so that the start does not count.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pass } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const few = 500;
const shown = 12;

const { values: options } = parseArgs({
  options: { calls: { type: 'string', default: '5000' }, size: { type: 'string', default: '200' }, servers: { type: 'string', default: '1' },
    journal: { type: 'boolean', default: false } },
});
const build = fileURLToPath(new URL('../build/release/', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'mcpivot-profile-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

const servers = Number(options.servers);
const echo = join(build, 'echo_server');
const config = join(folder, 'servers.json');
writeFileSync(config, JSON.stringify({ mcpServers: Object.fromEntries(
  Array.from({ length: servers }, (_, i) => [`server${i}`, { command: echo, active: true, watch: false }])) }));
const subject = [...(options.journal ? ['--journal'] : []), ...(servers > 1 ? ['--config', config] : ['--no-watch', '--', echo])];
const tool = servers > 1 ? `server${servers >> 1}__echo` : 'echo';

// One call after the other; the counts go into `file`.
async function run(calls, file) {
  const child = spawn(
    'valgrind',
    ['--tool=callgrind', `--callgrind-out-file=${file}`, '--separate-threads=yes', '--trace-children=no', '--quiet',
     join(build, 'mcpivot'), ...subject],
    { stdio: ['pipe', 'pipe', 'ignore'],
      env: { ...process.env, HOME: folder, XDG_STATE_HOME: folder, XDG_CACHE_HOME: folder, XDG_RUNTIME_DIR: folder,
             LD_PRELOAD: join(build, 'bench', 'libpidfd_shim.so') } });
  const ended = new Promise((resolve) => child.on('close', resolve));
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const request = async (id, method, params) => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    for (;;) {
      const { value, done } = await answers.next();
      if (done) throw new Error('mcpivot ended early; is valgrind installed?');
      const answer = JSON.parse(value);
      if (answer.id === id) return answer;
    }
  };
  await request(0, 'initialize',
    { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'profile', version: '1' } });
  child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  const text = 'x'.repeat(Number(options.size));
  const call = (id) => request(id, 'tools/call', { name: tool, arguments: { text } });
  // What is still starting must not count.
  while ((await request(0, 'tools/list', {})).result.tools.filter((one) => one.name.endsWith('echo')).length < servers) await pass(1000);
  for (let id = 1; id <= calls; ++id) await call(id);
  child.stdin.end();
  await ended;
}

// Instructions by function, of the file itself alone, in the thread of the event loop.
function counts(file) {
  const text = spawnSync('callgrind_annotate', ['--auto=no', '--inclusive=no', '--tree=none', '--threshold=100', `${file}-01`], { maxBuffer: 1 << 28 }).stdout.toString();
  const found = new Map();
  for (const line of text.split('\n')) {
    const match = /^\s*([\d,]+) \(\s*[\d.]+%\)\s+(?:[^:]*:)?(.+?)(?: \[[^\]]*\])?$/.exec(line);
    if (!match || match[2].includes('PROGRAM TOTALS')) continue;
    found.set(match[2], (found.get(match[2]) ?? 0) + Number(match[1].replaceAll(',', '')));
  }
  return found;
}

const many = Number(options.calls) + few;
await run(few, join(folder, 'few'));
await run(many, join(folder, 'many'));
const before = counts(join(folder, 'few'));
const costs = [...counts(join(folder, 'many'))]
  .map(([name, count]) => [name, (count - (before.get(name) ?? 0)) / (many - few)])
  .sort((a, b) => b[1] - a[1]);
const total = costs.reduce((sum, [, count]) => sum + count, 0);
console.log(`a call of ${options.size} bytes and its answer${servers > 1 ? `, in a fleet of ${servers}` : ''}: ${Math.round(total).toLocaleString('en')} instructions in mcpivot`);
console.log('(the kernel is not counted)\n');
for (const [name, count] of costs.slice(0, shown))
  console.log(`${Math.round(count).toString().padStart(7)}  ${(100 * count / total).toFixed(1).padStart(5)}%  ${name.slice(0, 120)}`);
