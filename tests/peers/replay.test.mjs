// Real calls of server-everything, repeated: compared with itself everything is the same, and for a build that
// changes an answer exactly that is reported.
//   MCPIVOT=path/to/mcpivot node --test replay.test.mjs
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { environment, everything, scratch_path, through } from './lib/commands.mjs';
import { Peer } from './lib/peer.mjs';

const mcpivot = through([])[0];

const calls = [
  ['echo', { message: 'hello' }],
  ['get-sum', { a: 2, b: 40 }],
  ['get-annotated-message', { messageType: 'success' }],
  ['get-structured-content', { location: 'New York' }],
  ['get-tiny-image', {}],
];

/** Makes these calls through mcpivot, and keeps them as `mcpivot journal keep` would. */
async function kept_calls() {
  const folder = scratch_path();
  mkdirSync(folder, { recursive: true });
  const peer = await Peer.connect(through(everything));
  const kept = [];
  for (const [tool, args] of calls) kept.push({ tool, arguments: args, result: await peer.call(tool, args) });
  await peer.close();
  const file = join(folder, 'calls.json');
  writeFileSync(file, JSON.stringify({ calls: kept }));
  return { folder, file, kept };
}

const run = (folder, ...args) => {
  const { status, stdout, stderr } = spawnSync(mcpivot, args, {
    cwd: folder,
    env: { ...process.env, ...environment },
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
};

const replay = (folder, ...args) => run(folder, 'replay', ...args);

describe('replay of server-everything', () => {
  test('against the same server reports no differences', async () => {
    const { folder, file } = await kept_calls();
    const { status, stdout, stderr } = replay(folder, file, '--unsafe', '--', ...everything);
    assert.equal(status, 0, stdout + stderr);
    assert.match(stdout, new RegExp(`${calls.length} of ${calls.length} calls answer the same`));
  });

  test('against a changed recording reports exactly that difference', async () => {
    const { folder, file, kept } = await kept_calls();
    kept[1].result.content[0].text = 'The sum of 2 and 40 is 43.';
    writeFileSync(file, JSON.stringify({ calls: kept }));
    const { status, stdout } = replay(folder, file, '--unsafe', '--json', '--', ...everything);
    assert.equal(status, 1);
    const { counts, calls: played } = JSON.parse(stdout).servers[0];
    assert.equal(counts.same, calls.length - 1);
    assert.deepEqual(
      played.filter(({ result }) => result === 'differs').map(({ tool }) => tool),
      ['get-sum'],
    );
  });

  test('uses calls, questions and answers from the journal', async () => {
    const folder = scratch_path();
    mkdirSync(folder, { recursive: true });
    const peer = await Peer.connect([mcpivot, '--journal', '--name', 'everything', '--', ...everything]);
    for (const [tool, args] of calls) await peer.call(tool, args);
    await peer.call('trigger-sampling-request', { prompt: 'Say hi', maxTokens: 10 });
    await peer.close();
    const all = ['--unsafe', '--', ...everything];
    const last = replay(folder, 'last', ...all);
    assert.equal(last.status, 0, last.stdout + last.stderr);
    assert.match(last.stdout, new RegExp(`${calls.length + 1} of ${calls.length + 1} calls answer the same`));

    const journal = (...args) => run(folder, 'journal', '--session', 'last', ...args);
    const ids = JSON.parse(journal('--json').stdout).map(({ id }) => id);
    assert.equal(ids.length, calls.length + 1);
    const kept = journal('keep', ...ids).stdout;
    assert.equal(journal('keep', ...ids.toReversed()).stdout, kept, 'sorted');
    const file = join(folder, 'calls.json');
    writeFileSync(file, kept);
    const again = replay(folder, file, ...all);
    assert.equal(again.status, 0, again.stdout + again.stderr);
    for (const line of journal('export').stdout.trim().split('\n')) assert.ok(JSON.parse(line).way);
  });

  test('calls only tools marked as safe', async () => {
    const { folder, file } = await kept_calls();
    const { status, stdout } = replay(folder, file, '--json', '--', ...everything);
    const { counts } = JSON.parse(stdout).servers[0];
    assert.equal(counts.same + counts.unsafe, calls.length);
    assert.equal(status, counts.same > 0 ? 0 : 2);
  });
});
