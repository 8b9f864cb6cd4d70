// A separate home and folder, in which the commands of the documentation are followed as a reader would:
// with mcpivot on the PATH, a client that stays connected, and daemons. `claude` is a stand-in that remembers
// what `claude mcp add` was told, be it a command or a URL; the client that then connects is the official SDK's.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { free_port } from './ports.mjs';

export const mcpivot = process.env.MCPIVOT;
const modules = fileURLToPath(new URL('../node_modules', import.meta.url));
const patience = 60_000;

const stand_in = `#!/usr/bin/env node
const [mcp, add, ...rest] = process.argv.slice(2);
const [option, transport, , url, option_2, header, ...more] = rest;
const added =
  mcp !== 'mcp' || add !== 'add' ? undefined
  : rest[1] === '--' ? { command: rest.slice(2) }
  : option === '--transport' && transport === 'http' && option_2 === '--header' && more.length === 0 ? { url, header }
  : undefined;
if (!added) {
  console.error('claude (stand-in): only "claude mcp add NAME -- COMMAND" and "claude mcp add --transport http NAME URL --header HEADER" are known');
  process.exit(2);
}
require('node:fs').writeFileSync(process.env.HOME + '/added.json', JSON.stringify(added));
`;

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Until the action returns something true; its last failure if it never does. */
export async function eventually(action, what) {
  const end = Date.now() + patience;
  for (let last = ''; ; await sleep(50)) {
    try {
      const value = await action();
      if (value) return value;
    } catch (error) {
      last = `\n${error.message}`;
    }
    if (Date.now() > end) throw new Error(`waited in vain: ${what}${last}`);
  }
}

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Whether a text has these lines; `…` stands for anything, and alone on a line for any number of lines. */
export function matches(text, lines) {
  const patterns = lines.map((line) => (line === '…' ? '(?:.*\n)*' : `${line.split('…').map(escaped).join('.*')}\n`));
  return new RegExp(`^${patterns.join('')}$`).test(`${text}\n`);
}

export class Place {
  #root = mkdtempSync(join(tmpdir(), 'mcpivot-follow-'));
  #clients = [];
  #daemon;
  #signal;
  home = join(this.#root, 'home');
  folder = join(this.#root, 'project');

  /** Blocks use port 8080, or 7420; here it is one that is free. */
  static async make() {
    const place = new Place();
    place.port = await free_port();
    const bin = join(place.#root, 'bin');
    for (const folder of [place.home, place.folder, bin, join(place.#root, 'run')]) mkdirSync(folder);
    symlinkSync(mcpivot, join(bin, 'mcpivot'));
    symlinkSync(modules, join(place.folder, 'node_modules')); // so that npx downloads nothing
    writeFileSync(join(bin, 'claude'), stand_in);
    chmodSync(join(bin, 'claude'), 0o755);
    place.env = {
      HOME: place.home,
      PATH: `${bin}:${dirname(process.execPath)}:${process.env.PATH}`,
      XDG_RUNTIME_DIR: join(place.#root, 'run'),
      LC_ALL: 'C.UTF-8',
      npm_config_update_notifier: 'false',
      npm_config_offline: 'true',
      ...(process.env.NODE_OPTIONS ? { NODE_OPTIONS: process.env.NODE_OPTIONS } : {}),
    };
    return place;
  }

  text(block) {
    return block.replaceAll(/8080|7420/g, String(this.port));
  }
  write(name, text) {
    mkdirSync(dirname(join(this.folder, name)), { recursive: true });
    writeFileSync(join(this.folder, name), text);
  }

  /** Runs one shell command. Returns what it prints, or throws an error with it. */
  shell(line, folder = this.folder) {
    const done = spawnSync('bash', ['-c', `exec 2>&1\n${line}`], {
      cwd: folder,
      env: this.env,
      encoding: 'utf8',
      timeout: patience,
      input: '',
    });
    if (done.status !== 0) throw new Error(`"${line}" ended with ${done.status ?? done.signal}:\n${done.stdout}`);
    return done.stdout;
  }

  /** Without blocking, so that a client or a daemon in this process continues. */
  async shell_beside(line, folder = this.folder) {
    const child = spawn('bash', ['-c', `exec 2>&1\n${line}`], {
      cwd: folder,
      env: this.env,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (text) => (out += text));
    const [status] = await once(child, 'close');
    if (status !== 0) throw new Error(`"${line}" ended with ${status}:\n${out}`);
    return out;
  }

  /**
   * `$ COMMAND` and the lines that it should print; `…` stands for anything. A command with lines behind it is
   * tried again until it prints them: a save, say, takes a moment to have its effect.
   */
  async console(block) {
    for (const step of this.text(block).split(/^\$ /m).slice(1)) {
      const [line, ...expected] = step.trimEnd().split('\n');
      if (expected.length === 0) {
        await this.shell_beside(line);
        continue;
      }
      await eventually(async () => {
        const printed = await this.shell_beside(line);
        if (matches(printed.trimEnd(), expected)) return true;
        throw new Error(`it printed:\n${printed}\ninstead of:\n${expected.join('\n')}`);
      }, `$ ${line}`);
    }
  }

  /** A client connects to this command, and stays connected until the end. */
  async connect([command, ...args], folder = this.folder) {
    return this.#connect(new StdioClientTransport({ command, args, cwd: folder, env: this.env, stderr: 'ignore' }));
  }
  async #connect(transport) {
    const client = new Client({ name: 'a-reader', version: '1' }, { capabilities: {} });
    await client.connect(transport);
    this.#clients.push(client);
    return client;
  }
  /** Until all of these servers are. */
  async until_ready(names) {
    await eventually(() => {
      const [{ servers }] = JSON.parse(this.shell('mcpivot status --json'));
      return names.every((name) => servers.some((server) => server.name === name && server.state === 'ready'));
    }, `${names} are ready`);
  }
  /** The same for what `claude mcp add` was told. */
  async connect_added(block) {
    this.shell(this.text(block));
    const { command, url, header } = JSON.parse(readFileSync(join(this.home, 'added.json'), 'utf8'));
    if (command) return this.connect(command);
    const [name, value] = header.split(': ');
    return this.#connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { [name]: value } } }));
  }

  async start_daemon(line) {
    this.#signal = line.startsWith('mcpivot') ? 'SIGINT' : 'SIGKILL'; // whose servers would be left behind
    this.#daemon = spawn('bash', ['-c', `exec ${line.replace(/^(\w+=\S+) /, 'env $1 ')}`], {
      cwd: this.folder,
      env: this.env,
      stdio: 'ignore',
      detached: true,
    });
    await eventually(() => fetch(`http://127.0.0.1:${this.port}/mcp`).then(() => true), 'the daemon listens');
  }
  async stop_daemon() {
    if (!this.#daemon) return;
    const gone = once(this.#daemon, 'close');
    process.kill(-this.#daemon.pid, this.#signal);
    await gone;
    this.#daemon = undefined;
    await eventually(
      () => fetch(`http://127.0.0.1:${this.port}/mcp`).then(() => false, () => true),
      'the daemon is gone',
    );
  }

  async leave() {
    for (const client of this.#clients) await client.close();
    await this.stop_daemon();
    rmSync(this.#root, { recursive: true, force: true });
  }
}

