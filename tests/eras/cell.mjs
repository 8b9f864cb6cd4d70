// One cell of the matrix, in its own process so that it can be ended whatever hangs:
//   node cell.mjs '{"server":…,"client":…,"mcpivot":…,"http":…,"serve":…,"limit":…,"scratch":…}'
// Prints a line of JSON for each question: { name, failed?: reason, milliseconds }.
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { free_port } from '../peers/lib/ports.mjs';
import { Peer } from './lib/clients.mjs';
import { asked } from './lib/expected.mjs';
import { questions, restart_questions } from './lib/questions.mjs';
import { servers } from './lib/words.mjs';

const { server, client, mcpivot, http, serve, limit, scratch } = JSON.parse(process.argv[2]);

const pids = join(scratch, 'pids');
const build = join(scratch, 'build');
writeFileSync(pids, '');
writeFileSync(build, 'build-1');
// So that the tested mcpivot leaves the user's own files alone, and knows nothing from the cell before.
const env = {
  ERAS_PIDS: pids,
  ERAS_BUILD: build,
  ...Object.fromEntries(
    ['STATE_HOME', 'CACHE_HOME', 'CONFIG_HOME', 'RUNTIME_DIR'].map((name) => [`XDG_${name}`, join(scratch, name)]),
  ),
};

const world = {
  /** Kills the process that serves now: the youngest. */
  kill_server() {
    const pid = Number(readFileSync(pids, 'utf8').trim().split('\n').at(-1));
    if (!pid) throw new Error('no server has said its pid'); // 0 would be all of us
    process.kill(pid, 'SIGKILL');
  },
  build_name: () => readFileSync(build, 'utf8'),
  /** Another build, in the file that mcpivot watches; its name. */
  rebuild() {
    writeFileSync(build, 'build-2');
    return 'build-2';
  },
};

// An mcpivot whose servers are all legacy doesn't offer the modern era to a modern client, unless configured.
const front = client === 'v2-pinned' && !servers[server].eras.includes('modern') ? ['--front', 'modern'] : [];
const command = [process.execPath, fileURLToPath(new URL('server.mjs', import.meta.url)), server];
const daemons = [];
/** Starts what listens on this port, and waits until it does; its URL. */
async function listening(port, [program, ...args]) {
  daemons.push(spawn(program, args, { env: { ...process.env, ...env }, stdio: 'ignore' }));
  const url = new URL(`http://127.0.0.1:${port}/mcp`);
  while (!(await fetch(url).then(() => true, () => false))) await sleep(50); // ended by the cell's limit
  return url;
}
/** What the client is to connect to: a command line, or a URL. */
async function target() {
  const port = http && (await free_port());
  const url = http && (await listening(port, [...command, '--http', String(port)]));
  if (!mcpivot) return url || command;
  const options = [...front, ...(http ? ['--url', url.href] : ['--cwd', scratch, '--watch', 'build', '--', ...command])];
  if (!serve) return [mcpivot, ...options];
  const own = await free_port();
  // A server behind `serve` gets almost nothing of mcpivot's own environment.
  const named = http ? [] : Object.entries(env).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
  return listening(own, [mcpivot, 'serve', '--listen', `127.0.0.1:${own}`, ...named, ...options]);
}

class Late extends Error {}
/** An action that takes too long fails. */
function within(milliseconds, action) {
  const late = Promise.withResolvers();
  const timer = setTimeout(() => late.reject(new Late(`no answer within ${milliseconds / 1000} s`)), milliseconds);
  return Promise.race([action(), late.promise]).finally(() => clearTimeout(timer));
}

const restarts = Boolean(mcpivot) && !http;
const names = asked(server, { restarts });
const report = (name, began, error) =>
  console.log(
    JSON.stringify({
      name,
      ...(error && { failed: error.message.replace(/\s+/g, ' ').slice(0, 400) }),
      milliseconds: Math.round(performance.now() - began),
    }),
  );

let peer;
const began = performance.now();
try {
  peer = await Peer.connect(client, await target(), { env, limit });
} catch (error) {
  error.message = `connect: ${error.message}`;
  for (const name of names) report(name, began, error);
}
if (peer) {
  let unanswered = 0;
  for (const name of names) {
    const question = { ...questions, ...restart_questions }[name];
    const start = performance.now();
    if (unanswered === 3) {
      report(name, start, new Error('not asked: three questions had no answer'));
      continue;
    }
    // A question that restarts a server takes longer, and consists of several requests.
    const enough = name in restart_questions ? 4 * limit : limit;
    const failed = await within(enough, () => question(peer, servers[server].words, world)).then(
      () => undefined,
      (error) => error,
    );
    if (failed instanceof Late) ++unanswered;
    report(name, start, failed);
  }
  await within(limit, () => peer.client.close()).catch(() => {});
}
for (const daemon of daemons) daemon.kill('SIGKILL');
process.exit(0);
