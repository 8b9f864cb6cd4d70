// `mcpivot serve` in its own folder, in front of one of the servers of the matrix, which can be killed and rebuilt;
// and so can mcpivot.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const mcpivot = process.env.MCPIVOT ?? here('../../../build/release/mcpivot');

export const limit = 40_000;
export const token = 'alice-0123456789abcdef';

/** Until it returns something true. */
export async function eventually(what, action) {
  for (const end = Date.now() + limit; Date.now() < end; await sleep(50)) {
    const value = await action();
    if (value) return value;
  }
  throw new Error(`waited in vain: ${what}`);
}

export class Serving {
  folder = mkdtempSync(join(tmpdir(), 'mcpivot-serving-'));
  #build = join(this.folder, 'build');
  #pids = join(this.folder, 'pids');
  #arguments;
  #child;

  /** Listens there, admits clients with the token, and has these further options. */
  async begin(server, listen, options = []) {
    const tokens = join(this.folder, 'tokens');
    writeFileSync(tokens, `alice ${token}\n`, { mode: 0o600 });
    writeFileSync(this.#pids, '');
    this.build('build-1');
    this.#arguments = [
      'serve',
      ...['--listen', listen, '--token-file', tokens, ...options, '--cwd', this.folder, '--watch', 'build', '--log-level', 'trace'],
      ...['--env', `ERAS_BUILD=${this.#build}`, '--env', `ERAS_PIDS=${this.#pids}`],
      ...['--', process.execPath, here('../server.mjs'), server],
    ];
    await this.start();
  }
  async start() {
    const env = { PATH: process.env.PATH, HOME: this.folder, XDG_STATE_HOME: join(this.folder, 'state') };
    const child = (this.#child = spawn(mcpivot, this.#arguments, { env, stdio: ['ignore', 'ignore', 'pipe'] }));
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text) => (said += text));
    await eventually('mcpivot listens', () => {
      assert.equal(child.exitCode, null, said);
      return said.includes('listening on');
    });
  }
  async kill() {
    const gone = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await gone;
  }

  /** The file that mcpivot watches: a server that starts from now on is this build. */
  build(name) {
    writeFileSync(this.#build, name);
  }
  /** All that run: a client that asks for one era, then for the other, has one of each. */
  kill_servers() {
    const runs = (pid) => {
      try {
        return pid && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('server.mjs');
      } catch {
        return false;
      }
    };
    const running = readFileSync(this.#pids, 'utf8').split('\n').filter(runs);
    assert.notEqual(running.length, 0, 'no server runs');
    for (const pid of running) process.kill(Number(pid), 'SIGKILL');
  }

  log() {
    return readdirSync(this.folder, { recursive: true })
      .filter((name) => name.endsWith('.log') && name.includes('mcpivot'))
      .flatMap((name) => readFileSync(join(this.folder, name), 'utf8').split('\n'));
  }
  /** A call of this tool has been sent to the server. */
  reached_server(tool) {
    const parts = [' node < ', '"method":"tools/call"', `"name":"${tool}"`];
    return eventually(`a call of ${tool}`, () => this.log().some((line) => parts.every((part) => line.includes(part))));
  }
  /** The last line of the log about this, from there on. */
  audited(what) {
    return eventually(`"${what}" in the log`, () =>
      this.log()
        .filter((line) => line.includes(`http: ${what} `))
        .at(-1)
        ?.replace(/.*http: /, ''),
    );
  }

  async end() {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
