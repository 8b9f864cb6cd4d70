// Six servers behind one mcpivot, and each of them a second time with nothing in between: two processes of
// server-everything, a daemon of it, server-filesystem, server-memory, and a program with tools.
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import {
  environment,
  everything,
  everything_daemon,
  filesystem,
  gateway,
  memory,
  patience,
  scratch_path,
  text_tools,
  tools_from,
} from '../lib/commands.mjs';
import { Peer } from '../lib/peer.mjs';
import { Side } from './side.mjs';
import { free_port } from '../lib/ports.mjs';

/** Waits for what has no event. */
export async function until(what, condition) {
  for (const end = Date.now() + patience; Date.now() < end;) {
    const found = await condition();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`waited ${patience / 1000} s for ${what}`);
}

const listens = (port) =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => (socket.destroy(), resolve(true)));
    socket.on('error', () => resolve(false));
  });

async function start_daemon() {
  const port = await free_port();
  const child = spawn(everything_daemon[0], everything_daemon.slice(1), {
    env: { PATH: process.env.PATH, NODE_OPTIONS: process.env.NODE_OPTIONS ?? '', PORT: String(port) },
    stdio: 'ignore',
  });
  await until('the daemon to listen', () => listens(port));
  return { url: new URL(`http://127.0.0.1:${port}/mcp`), stop: () => child.kill('SIGKILL') };
}

/**
 * What the client answers depends only on the question, so that all servers can ask at once. A question that
 * may be answered later is: when the server has heard once that it takes time.
 */
function answers_of(folder, peer) {
  const later = async (answer, params, { taskStore }) => {
    const { taskId } = await taskStore.createTask({ ttl: params.task.ttl, pollInterval: 1000 });
    peer()
      .sent.until(({ result }) => result?.taskId === taskId && result.status === 'working')
      .then(() => taskStore.storeTaskResult(taskId, 'completed', answer(params)));
    return { task: await taskStore.getTask(taskId) };
  };
  const now_or_later = (answer) => (params, extra) => (params.task ? later(answer, params, extra) : answer(params));
  return {
    'sampling/createMessage': now_or_later(({ messages, maxTokens }) => ({
      role: 'assistant',
      model: 'a-model',
      content: { type: 'text', text: `${maxTokens} tokens about ${messages.at(-1).content.text}` },
    })),
    'elicitation/create': now_or_later(({ mode, message }) =>
      mode === 'url'
        ? { action: message.includes('decline') ? 'decline' : 'accept' }
        : {
            action: 'accept',
            content: { name: 'Ada', favoriteColor: 'Blue', agreeToTerms: true, interpretation: 'snake' },
          },
    ),
    'roots/list': () => ({ roots: [{ uri: `file://${folder}/work`, name: 'Work' }] }),
  };
}

/** A client with a folder of its own, which is its root. */
async function peer_of(command, folder, options) {
  const answers = answers_of(folder, () => peer);
  const peer = await Peer.connect(command, { ...options, answers });
  return Object.assign(peer, { folder });
}

function make_folder() {
  const folder = scratch_path();
  for (const name of ['work', 'more', 'state']) mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, 'work/first.txt'), 'one\ntwo\nthree 🙂\n');
  writeFileSync(join(folder, 'work/picture.png'), Buffer.from('89504e470d0a1a0a00', 'hex'));
  writeFileSync(join(folder, 'more/other.txt'), 'elsewhere\n');
  return folder;
}

const marker = 'the-second-one'; // an argument that the server ignores

export class Fleet {
  static names = ['one', 'two', 'files', 'memory', 'text', 'daemon'];
  /** The three that have the same names and URIs. */
  static everythings = ['one', 'two', 'daemon'];

  static async start() {
    const fleet = new Fleet();
    // Sessions of one daemon would share its resources.
    fleet.daemons = await Promise.all([start_daemon(), start_daemon()]);
    const folder = make_folder();
    const stdio = ([command, ...args], more) => ({ command, args, active: true, ...more });
    const config = join(folder, 'state/mcpivot.json');
    writeFileSync(
      config,
      JSON.stringify({
        mcpServers: {
          one: stdio(everything),
          two: stdio([...everything, marker]),
          files: stdio([...filesystem, join(folder, 'work')]),
          memory: stdio(memory, { env: { MEMORY_FILE_PATH: join(folder, 'state/memory.jsonl') } }),
          text: { cli: text_tools, active: true },
          daemon: { url: fleet.daemons[0].url.href, active: true },
        },
      }),
    );
    const directly = (command, env) => {
      const own = make_folder();
      return peer_of(command(own), own, { env: env?.(own) });
    };
    const [through, one, two, files, memories, text, daemon] = await Promise.all([
      peer_of(gateway(config), folder),
      directly(() => everything),
      directly(() => everything),
      directly((own) => [...filesystem, join(own, 'work')]),
      directly(
        () => memory,
        (own) => ({ MEMORY_FILE_PATH: join(own, 'state/memory.jsonl') }),
      ),
      directly(() => tools_from(text_tools)),
      directly(() => fleet.daemons[1].url),
    ]);
    fleet.gateway = through;
    fleet.direct = { one, two, files, memory: memories, text, daemon };
    await fleet.settled();
    return fleet;
  }

  /** All have started and know their client's roots. */
  async settled() {
    const told = ({ params }) => /^Roots updated/.test(params?.data);
    await Promise.all([
      this.gateway.received.until(told, Fleet.everythings.length),
      ...Fleet.everythings.map((name) => this.direct[name].received.until(told)),
      until('all servers to be ready', async () => {
        const { content } = await this.gateway.call('pivot_status', {});
        return content.at(-1).text.match(/: active, ready/g)?.length === Fleet.names.length;
      }),
      until('the folders to be known', async () => {
        const of = (side) => side.call('list_allowed_directories', {});
        const both = await Promise.all(this.both('files').map(of));
        return both.every(({ content }) => content?.[0].text.endsWith('/work'));
      }),
    ]);
  }

  both(name) {
    return [new Side(this.gateway, name), new Side(this.direct[name])];
  }

  /** Of the three that have the same URIs, only this one is active. */
  async show_only(name) {
    for (const other of Fleet.everythings)
      await this.gateway.call(other === name ? 'pivot_activate' : 'pivot_deactivate', { server: other });
  }
  async show_all() {
    for (const name of Fleet.everythings) await this.gateway.call('pivot_activate', { server: name });
  }

  /** The gateway's own processes, with what each runs. */
  processes() {
    const found = [];
    for (const pid of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
      try {
        const parent = readFileSync(`/proc/${pid}/stat`, 'utf8').match(/\) . (\d+)/)[1];
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
        if (Number(parent) === this.gateway.pid && command.length > 1)
          found.push({ pid: Number(pid), command });
      } catch {
        // It has ended meanwhile.
      }
    }
    return found;
  }
  second() {
    return this.processes().find(({ command }) => command.includes(marker))?.pid;
  }
  others() {
    return this.processes()
      .filter(({ command }) => command[1].includes('/server-') && !command.includes(marker))
      .map(({ pid }) => pid)
      .sort();
  }

  /** Throws what a sanitizer found. */
  async stop() {
    const peers = [this.gateway, ...Object.values(this.direct ?? {})];
    const ends = await Promise.allSettled(peers.map((peer) => peer?.close()));
    this.daemons?.forEach((daemon) => daemon.stop());
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }
}
