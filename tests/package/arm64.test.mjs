// The arm64 packages that `./dev package --arm64` cross-compiled: what they say about themselves, and the program
// at work under qemu-user, in front of a server that is built for arm64, too. Without binfmt_misc the kernel can't
// start an arm64 program by itself, so the server's command line names the emulator as well.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  appendFileSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { RawPeer } from '../peers/lib/raw.mjs';

const project = join(dirname(fileURLToPath(import.meta.url)), '../..');
const { PACKAGES, VERSION, FAKE_SERVER } = process.env;
const emulator = ['qemu-aarch64', '-L', '/usr/aarch64-linux-gnu'];
const scratch = mkdtempSync(join(tmpdir(), 'mcpivot-arm64-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

const run = (...command) => execFileSync(command[0], command.slice(1), { encoding: 'utf8' }).trim();

/** The folder with what is in a package. */
function unpacked(name, ...command) {
  const folder = join(scratch, name);
  mkdirSync(folder);
  run(...command, folder);
  return folder;
}

const [deb] = readdirSync(PACKAGES).filter((name) => name.endsWith('.deb')).map((name) => join(PACKAGES, name));
const in_deb = unpacked('deb', 'dpkg-deb', '-x', deb);
const in_npm = unpacked('npm', 'tar', '-xf', join(PACKAGES, `mcpivot-linux-arm64-${VERSION}.tgz`), '-C');
const program = join(in_deb, 'usr/bin/mcpivot');

test('the .deb is for arm64 and depends on the glibc that its program needs', () => {
  const field = (name) => run('dpkg-deb', '-f', deb, name);
  assert.equal(field('Architecture'), 'arm64');
  assert.equal(field('Version'), VERSION);
  const glibc = run(join(project, 'cmake/needed_glibc'), program);
  assert.equal(field('Depends'), `libc6 (>= ${glibc}), libgcc-s1 (>= 4.5)`);
  assert.match(readFileSync(join(project, 'docs/packaging.md'), 'utf8'), new RegExp(`glibc ${glibc} `));
});

test('the program is stripped, for arm64, and knows its version', () => {
  const kind = run('file', '--brief', program);
  assert.match(kind, /ELF 64-bit LSB.* ARM aarch64.* stripped$/);
  assert.doesNotMatch(kind, /not stripped/);
  assert.equal(run(...emulator, program, '--version'), `mcpivot ${VERSION}`);
});

test('the .deb contains the man page and completions that the program prints', () => {
  const there = (path) => readFileSync(join(in_deb, 'usr/share', path), 'utf8').trim();
  assert.equal(there('man/man1/mcpivot.1'), run(...emulator, program, 'man'));
  for (const [shell, path] of Object.entries({
    bash: 'bash-completion/completions/mcpivot',
    zsh: 'zsh/vendor-completions/_mcpivot',
    fish: 'fish/vendor_completions.d/mcpivot.fish',
  }))
    assert.equal(there(path), run(...emulator, program, 'completion', shell));
});

test('the npm package is for arm64 and contains the same program', () => {
  const manifest = JSON.parse(readFileSync(join(in_npm, 'package/package.json')));
  assert.equal(manifest.name, '@mcpivot/linux-arm64');
  assert.equal(manifest.version, VERSION);
  assert.deepEqual([manifest.os, manifest.cpu, manifest.libc], [['linux'], ['arm64'], ['glibc']]);
  assert.ok(readFileSync(join(in_npm, 'package/bin/mcpivot')).equals(readFileSync(program)));
});

test('a call is answered, a crash is reported and survived, and a replaced server is swapped in', async (t) => {
  const server = join(scratch, 'server');
  copyFileSync(FAKE_SERVER, server);
  // The crash begins its second life and the swap its third, in which it has one more tool.
  const lives = ['--lives', join(scratch, 'lives'), '--life', '3+', '--tool', 'fresh'];
  const watched = ['--cwd', scratch, '--watch', 'server'];
  const client = new RawPeer([...emulator, program, ...watched, '--', ...emulator, server, ...lives]);
  t.after(() => client.process.kill()); // should a check have failed
  let id = 0;
  const ask = async (method, params) =>
    JSON.parse(await client.ask(JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params })));
  /** The texts of a tool's result: mcpivot's notices, then what the tool says. */
  const call = async (name, given = {}) => {
    const { result } = await ask('tools/call', { name, arguments: given });
    return { failed: result.isError === true, texts: result.content.map(({ text }) => text) };
  };

  await ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } });
  client.send('{"jsonrpc":"2.0","method":"notifications/initialized"}');
  // Beyond ASCII: arm64 has another sign for char, and none of the vector code that checks UTF-8 on x64.
  const words = 'grüße, 你好, 🚀 and a long enough tail';
  assert.deepEqual(await call('echo', { text: words }), { failed: false, texts: [words] });

  const crash = await call('crash', { signal: 'SIGSEGV', stderr: 'the last words' });
  assert.ok(crash.failed);
  assert.match(crash.texts.join('\n'), /killed by SIGSEGV[^]*"crash"[^]*the last words/);
  const after_crash = (await call('pid')).texts.at(-1);

  copyFileSync(FAKE_SERVER, `${server}.new`);
  appendFileSync(`${server}.new`, 'another build');
  renameSync(`${server}.new`, server);
  await client.received.until('notifications/tools/list_changed');
  const [notice, after_swap] = (await call('pid')).texts;
  assert.match(notice, /^\[mcpivot\] .*generation 3[^]*\+fresh/);
  assert.notEqual(after_swap, after_crash);

  await client.close();
  assert.equal(client.process.exitCode, 0);
});
