// `./dev bench growth`: runs growth_bench, and writes its plots and its section of docs/benchmarks.md.
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
const file = join(scratch, 'growth.json');
const { mcpivot } = versions();
const about = { ...circumstances(['./dev bench growth', ...given].join(' ')), versions: { mcpivot } };
const { status } = spawnSync(here('../build/release/growth_bench'), [...given, '--json', file], { stdio: 'inherit' });
if (given.includes('--help') || status === 2 || status === null) process.exit(status ?? 1);
try {
  const growth = { ...about, ...JSON.parse(readFileSync(file, 'utf8')) };
  writeFileSync(here('../docs/benchmarks/growth.json'), `${JSON.stringify(growth, null, 1)}\n`);
  await import('./report/page.mjs');
} catch (error) {
  console.error(`docs/benchmarks.md stays as it was: ${error.message}`);
}
process.exit(status);
