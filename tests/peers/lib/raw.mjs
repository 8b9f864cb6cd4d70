// A client that writes and reads lines, and knows no more of MCP than its handshake.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { environment, patience, scratch_path, tapped, through } from './commands.mjs';
import { spelled } from './json-text.mjs';
import { Log } from './log.mjs';
import { Stderr } from './stderr.mjs';
import { Tap } from './tap.mjs';

export class RawPeer {
  /** Every line from the server, as { line, method, id }, the last two as they are spelled there. */
  received = new Log('lines from the server', () => this.#stderr.end());
  tap = new Tap(scratch_path());
  #stderr;

  constructor(command) {
    this.process = spawn(command[0], command.slice(1), {
      env: { ...process.env, ...environment, SERVER_TAP: this.tap.folder },
    });
    this.process.stdin.on('error', () => {}); // told by the answers that do not come
    this.#stderr = new Stderr(this.process.stderr);
    let rest = '';
    this.process.stdout.setEncoding('utf8').on('data', (text) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop();
      for (const line of lines)
        this.received.add({ line, method: spelled(line, 'method')?.slice(1, -1), id: spelled(line, 'id') });
    });
  }

  send(line) {
    this.process.stdin.write(`${line}\n`);
  }

  /** The answer to the request whose id is spelled like this. */
  async answer(id) {
    const { line } = await this.received.until(this.#answers(id));
    return line;
  }

  /** The answers so far to the request whose id is spelled like this. */
  answers(id) {
    return this.received.matching(this.#answers(id)).map(({ line }) => line);
  }

  /** Sends a request and returns its answer. */
  ask(line) {
    this.send(line);
    return this.answer(spelled(line, 'id'));
  }

  async close() {
    this.process.stdin.end();
    const timer = setTimeout(() => this.process.kill('SIGKILL'), patience);
    if (this.process.exitCode === null && this.process.signalCode === null) await once(this.process, 'close');
    clearTimeout(timer);
    this.#stderr.check();
  }

  #answers(id) {
    return (item) => item.method === undefined && item.id === id;
  }
}

const handshake = ({ id = '"handshake"', version = '2025-11-25', capabilities = '{}' } = {}) =>
  `{"jsonrpc":"2.0","id":${id},"method":"initialize","params":{"protocolVersion":"${version}",` +
  `"capabilities":${capabilities},"clientInfo":{"name":"raw","version":"1"}}}`;

/** Runs `scenario(peer)` with a server behind mcpivot, or without it, after the handshake. */
export async function with_raw_peer(command, scenario, { direct = false, ...options } = {}) {
  const peer = new RawPeer(direct ? tapped(command) : through(tapped(command)));
  try {
    await peer.ask(handshake(options));
    peer.send('{"jsonrpc":"2.0","method":"notifications/initialized"}');
    return await scenario(peer);
  } finally {
    await peer.close();
  }
}
