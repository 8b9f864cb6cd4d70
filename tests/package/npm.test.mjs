// The npm packages: laid out, packed, installed from the tarballs into an empty folder, and run as clients would.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync, cpSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, readdirSync, renameSync, rmSync, writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const project = join(dirname(fileURLToPath(import.meta.url)), '../..');
const { MCPIVOT, VERSION, BUILT } = process.env;
const platform = `${process.platform}-${process.arch}`;
const scratch = mkdtempSync(join(tmpdir(), 'mcpivot-npm-'));
const home = join(scratch, 'home');
const app = join(scratch, 'app');
const launcher = join(app, 'node_modules/.bin/mcpivot');
const server = join(BUILT, 'fake_server');
const environment = {
  PATH: process.env.PATH,
  HOME: home,
  XDG_RUNTIME_DIR: join(home, 'run'),
  npm_config_cache: join(scratch, 'cache'),
  npm_config_offline: 'true',
  npm_config_update_notifier: 'false',
};
const options = { cwd: app, env: environment, encoding: 'utf8' };
const npm = (...words) => execFileSync('npm', words, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });

before(() => {
  mkdirSync(join(home, 'run'), { recursive: true });
  mkdirSync(app);
  const program = join(scratch, 'program');
  if (spawnSync('strip', ['-o', program, MCPIVOT]).status !== 0) cpSync(MCPIVOT, program);
  execFileSync('node', [join(project, 'npm/make.mjs'), VERSION, program, join(BUILT, 'pages/mcpivot.1'), scratch]);
  for (const name of ['mcpivot', platform]) npm('pack', '--pack-destination', scratch, join(scratch, name));
  npm('init', '--yes');
  npm('install', '--no-audit', '--no-fund', ...[`mcpivot-${VERSION}.tgz`, `mcpivot-${platform}-${VERSION}.tgz`]
    .map((name) => join(scratch, name)));
});
after(() => rmSync(scratch, { recursive: true, force: true }));

/** All processes that are not zombies, by pid. */
function processes() {
  const all = new Map();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
      const [, state, parent] = /^\d+ \(.*\) (\S) (\d+)/s.exec(stat);
      if (state !== 'Z') all.set(Number(pid), Number(parent));
    } catch {
      // it has just ended
    }
  return all;
}

function descendants(of) {
  const all = processes();
  const found = [];
  for (let next = [of]; next.length > 0; ) {
    next = [...all].filter(([, parent]) => next.includes(parent)).map(([pid]) => pid);
    found.push(...next);
  }
  return found;
}

async function until(condition, what) {
  const deadline = Date.now() + 20_000;
  while (!condition()) {
    assert.ok(Date.now() < deadline, `still waiting: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A client behind `command`, after the handshake and a call. `held`: stdin's other end, if Node must not close it. */
async function connect(command, words, held) {
  const child = spawn(command, [...words, '--', server], { ...options, stdio: [held ?? 'pipe', 'pipe', 'pipe'] });
  const send = (line) => (held === undefined ? child.stdin.write(line + '\n') : writeSync(held, line + '\n'));
  let stderr = '';
  child.stderr.on('data', (text) => (stderr += text));
  child.stdin?.on('error', () => {});
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ask = async (id, method, params) => {
    send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    for (;;) {
      const { value, done } = await lines.next();
      assert.ok(!done, `no answer to ${method}: ${stderr}`);
      const message = JSON.parse(value);
      if (message.id === id) return message.result;
    }
  };
  const hello = await ask(1, 'initialize', {
    protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' },
  });
  assert.equal(hello.protocolVersion, '2025-06-18');
  send('{"jsonrpc":"2.0","method":"notifications/initialized"}');
  const answer = await ask(2, 'tools/call', { name: 'echo', arguments: { text: 'through npm' } });
  assert.equal(answer.content[0].text, 'through npm');
  const family = descendants(child.pid);
  assert.ok(family.length >= 2, 'mcpivot and the server');
  return { child, family };
}

async function allGone(family) {
  const left = () => family.filter((pid) => processes().has(pid));
  try {
    await until(() => left().length === 0, 'every process has ended');
  } finally {
    for (const pid of left()) process.kill(pid, 'SIGKILL');
  }
}

test('all packages have the same version, and the main one names the others', () => {
  const main = JSON.parse(readFileSync(join(app, 'node_modules/mcpivot/package.json')));
  const own = JSON.parse(readFileSync(join(app, `node_modules/@mcpivot/${platform}/package.json`)));
  assert.equal(main.version, VERSION);
  assert.equal(own.version, VERSION);
  for (const version of Object.values(main.optionalDependencies)) assert.equal(version, VERSION);
  assert.ok(main.optionalDependencies[own.name]);
  assert.ok(existsSync(join(app, 'node_modules/mcpivot/man/mcpivot.1')));
});

test('npx runs mcpivot', () => {
  const result = spawnSync('npx', ['--no-install', 'mcpivot', '--version'], options);
  assert.equal(result.stdout, `mcpivot ${VERSION}\n`);
  assert.equal(result.status, 0);
});

test('the exit code is passed on', () => {
  assert.equal(spawnSync(launcher, ['--no-such-option'], options).status, 2);
});

test('a client behind npx can initialize and call; the end of stdin ends everything', async () => {
  const { child, family } = await connect('npx', ['--no-install', 'mcpivot']);
  child.stdin.end();
  const [code] = await once(child, 'exit');
  assert.equal(code, 0);
  await allGone(family);
});

for (const signal of ['SIGTERM', 'SIGINT'])
  test(`${signal} reaches the program, which ends in order`, async () => {
    const { child, family } = await connect(launcher, []);
    child.kill(signal);
    const [code] = await once(child, 'exit');
    assert.equal(code, signal === 'SIGTERM' ? 143 : 130);
    await allGone(family);
  });

test('SIGHUP reaches the program and does not end it', async () => {
  const { child, family } = await connect(launcher, []);
  const [program] = descendants(child.pid);
  const before = descendants(program);
  child.kill('SIGHUP');
  await until(() => descendants(program).some((pid) => !before.includes(pid)), 'a new generation');
  child.stdin.end();
  await once(child, 'exit');
  await allGone(family);
});

test('no process is left when the launcher is killed, even if stdin stays open', async () => {
  const pipe = join(scratch, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const held = openSync(pipe, 'r+');
  const { child, family } = await connect(launcher, [], held);
  child.kill('SIGKILL');
  await once(child, 'exit');
  await allGone(family);
  closeSync(held);
});

test('the launcher ends the way the program did', async () => {
  const { child, family } = await connect(launcher, []);
  const [program] = descendants(child.pid);
  process.kill(program, 'SIGKILL');
  const [, signal] = await once(child, 'exit');
  assert.equal(signal, 'SIGKILL');
  await allGone(family);
});

test('a missing program is explained', () => {
  const folder = join(app, `node_modules/@mcpivot/${platform}`);
  renameSync(folder, `${folder}.away`);
  try {
    const result = spawnSync(launcher, ['--version'], options);
    assert.equal(result.status, 1);
    assert.match(result.stderr, /@mcpivot\/linux-\w+ is missing.*--omit=optional/);
  } finally {
    renameSync(`${folder}.away`, folder);
  }
});
