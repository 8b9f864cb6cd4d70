// `./dev bench --against`: runs the contest (against_bench), then which features survive (passthrough.mjs), and writes
// docs/benchmarks.md again. With --only or --rivals it only prints.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { circumstances, versions } from './report/machine.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const given = process.argv.slice(2);
const scratch = mkdtempSync(join(tmpdir(), 'mcpivot-bench-'));
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));

function run(program, ...args) {
  const { status } = spawnSync(program, args, { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
const only = given.filter((word, i) => given[i - 1] === '--only');
const rivals = given.flatMap((word, i) => (word === '--rivals' ? [word, given[i + 1]] : []));
const whole = only.length === 0 && rivals.length === 0;
const about = { ...circumstances(['./dev bench', ...given].join(' ')), versions: versions() };

const [contest, features] = [join(scratch, 'contest.json'), join(scratch, 'features.json')];
if (only.length === 0 || only.some((row) => row !== 'passthrough') || given.includes('--help'))
  run(here('../build/release/against_bench'), ...given, '--json', contest);
if (given.includes('--help')) process.exit(0);
if (only.length === 0 || only.includes('passthrough')) {
  console.log('\npassthrough: features of server-everything that survive');
  run(process.execPath, here('passthrough.mjs'), ...rivals, '--json', features);
}
if (!whole) process.exit(0);

const { results, quick } = JSON.parse(readFileSync(contest, 'utf8'));
for (const [way, subjects] of Object.entries(JSON.parse(readFileSync(features, 'utf8'))))
  for (const [name, seen] of Object.entries(subjects)) ((results[way] ??= {})[name] ??= {}).passthrough = seen;
writeFileSync(here('../docs/benchmarks/against.json'), `${JSON.stringify({ ...about, quick, results }, null, 1)}\n`);
await import('./report/page.mjs');
