// Judges a run of ctest: a test that was not registered, or that skipped without leave, is a failure.
//   node tests/judge.mjs PRESET CTEST-EXIT-CODE some|'all but LABELS'
// Prints the skips with their reasons, then one last line: PRESET: N passed, N failed, N skipped.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [preset, exit_code, scope] = process.argv.slice(2);
const tests = fileURLToPath(new URL('.', import.meta.url));
const build = join(tests, '../build', preset);
const problems = [];

/** What a machine may lack, by the name of the test: nobody can install it. */
const may_skip = {
  'FileWatcherIn.reaching_the_systems_watch_limit_is_reported_and_the_rest_is_still_watched': 'a kernel without user namespaces',
  'InstallPrefix.the_program_needs_only_the_documented_glibc': 'an instrumented build',
  'Limits.a_message_without_memory_for_it_is_answered_and_the_next_one_read': 'an instrumented build',
  'TheControlSocket.turns_away_a_process_of_another_user': 'only root can become another user',
  chaos: 'a kernel without user namespaces cannot fill a disk',
  chaos_modern: 'a kernel without user namespaces cannot fill a disk',
};

function read_results() {
  const file = join(build, 'Testing/junit.xml');
  if (!existsSync(file)) return [];
  const plain = (text) =>
    text.replace(/&(lt|gt|quot|apos|amp);/g, (_, name) => ({ lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' })[name]);
  return [...readFileSync(file, 'utf8').matchAll(/<testcase name="([^"]*)"[^>]*status="(\w+)"[^>]*>([^]*?)<\/testcase>/g)].map(
    ([, name, status, inside]) => ({ name: plain(name), status, output: plain(inside) }),
  );
}

/** Every test that there should be, asked of those who have them, not of ctest. */
function expected_names(without) {
  const of_binary = (name) => {
    const names = [];
    let suite = '';
    for (const line of execFileSync(join(build, name), ['--gtest_list_tests'], { encoding: 'utf8' }).split('\n')) {
      if (/^\S.*\.(\s|$)/.test(line)) suite = line.replace(/\s.*/, '');
      else if (/^ {2}\S/.test(line)) names.push(suite + line.trim().replace(/\s.*/, ''));
    }
    return names;
  };
  const peers = readdirSync(join(tests, 'peers'))
    .filter((file) => file.endsWith('.test.mjs'))
    .map((file) => `peers.${file.replace('.test.mjs', '')}`);
  const instrumented = ['asan', 'tsan'].includes(preset);
  return [
    ...of_binary('unit_tests'),
    ...of_binary('e2e_tests').filter((name) => !/InstallReal/.test(name)),
    ...peers,
    ...(instrumented ? [] : ['package.npm']), // packages hold the program as it is released
    'demo',
    'search_quality',
    'eras',
    'nginx',
    'simulation_again',
    'simulation_apart',
    'simulation_scenarios',
    ...(without.includes('deep') ? [] : ['chaos', 'chaos_modern', 'chaos_crowd', 'conformance', 'simulation']),
  ];
}

/** Why a test skipped something: ctest's own word, or what a program that passed says of its parts. */
function skip_of({ status, output }) {
  if (status === 'notrun' || status === 'disabled')
    return output.match(/Skipped\n(.*)/)?.[1] ?? output.match(/message="([^"]*)"/)?.[1] ?? status;
  if (/^. tests 0$/m.test(output)) return 'it holds no test';
  return output.match(/NOT RUN: .*/)?.[0] ?? output.match(/^. skipped [1-9]\d*$/m)?.[0];
}

const results = read_results();
const failed = results.filter(({ status }) => status === 'fail');
const skipped = results
  .filter((result) => !failed.includes(result))
  .map((result) => ({ ...result, why: skip_of(result) }))
  .filter(({ why }) => why !== undefined);
for (const { name, why } of skipped) {
  const leave = may_skip[name];
  console.log(`skipped: ${name}: ${why.trim()}${leave ? ` (allowed: ${leave})` : ''}`);
  if (!leave) problems.push(`${name} skipped, and may not: what it lacks can be installed`);
}
if (results.length === 0) problems.push(`there are no results in ${build}/Testing/junit.xml`);
if (scope !== 'some') {
  const ran = new Set(results.map(({ name }) => name));
  const missing = expected_names(scope).filter((name) => !ran.has(name));
  for (const name of missing) problems.push(`${name} was not run`);
}
if (exit_code !== '0' && failed.length === 0) problems.push(`ctest ended with ${exit_code}`);
for (const problem of problems) console.log(`problem: ${problem}`);
for (const { name } of failed) console.log(`failed: ${name}`);
const passed = results.filter(({ name, status }) => status === 'run' && !skipped.some((one) => one.name === name));
console.log(`${preset}: ${passed.length} passed, ${failed.length + problems.length} failed, ${skipped.length} skipped`);
process.exit(failed.length + problems.length === 0 ? 0 : 1);
