// Where the time of a passing message goes: the instructions that mcpivot spends on one call and its answer, counted by
// callgrind, and the functions that spend them. Counts do not depend on what else the machine does.
//
//   ./dev bench profile [--calls N] [--size BYTES]
//
// Two runs, with few and with many calls, are subtracted, so that the start does not count.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const few = 500;
const shown = 12;

const { values: options } = parseArgs({
  options: { calls: { type: 'string', default: '5000' }, size: { type: 'string', default: '200' } },
});
const build = fileURLToPath(new URL('../build/release/', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'mcpivot-profile-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

// One call after the other; the counts go into `file`.
async function run(calls, file) {
  const child = spawn(
    'valgrind',
    ['--tool=callgrind', `--callgrind-out-file=${file}`, '--trace-children=no', '--quiet',
     join(build, 'mcpivot'), '--no-watch', '--', join(build, 'echo_server')],
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
      if (JSON.parse(value).id === id) return;
    }
  };
  await request(0, 'initialize',
    { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'profile', version: '1' } });
  child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  const text = 'x'.repeat(Number(options.size));
  for (let id = 1; id <= calls; ++id)
    await request(id, 'tools/call', { name: 'echo', arguments: { text } });
  child.stdin.end();
  await ended;
}

// Instructions by function, of the file itself alone.
function counts(file) {
  const text = spawnSync('callgrind_annotate', ['--auto=no', '--inclusive=no', '--tree=none', '--threshold=100', file], { maxBuffer: 1 << 28 }).stdout.toString();
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
console.log(`a call of ${options.size} bytes and its answer: ${Math.round(total).toLocaleString('en')} instructions in mcpivot`);
console.log('(the kernel is not counted)\n');
for (const [name, count] of costs.slice(0, shown))
  console.log(`${Math.round(count).toString().padStart(7)}  ${(100 * count / total).toFixed(1).padStart(5)}%  ${name.slice(0, 120)}`);
