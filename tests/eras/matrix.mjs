// Every server with every client, and which parts of the protocol work between them:
//   node matrix.mjs [--mcpivot PATH] [--row SERVER] [--column CLIENT] [--http] [--serve] [--json] [--limit SECONDS]
//     [--jobs N]
// Without --mcpivot the client talks to the server itself; with it, mcpivot is between them. --http: the server is
// a daemon, and mcpivot reaches it with --url. --serve: the client reaches mcpivot over HTTP. Ends with 1 if a cell is
// below what lib/expected.mjs expects of it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { client_names } from './lib/clients.mjs';
import { asked, expected } from './lib/expected.mjs';
import { servers } from './lib/words.mjs';

const cell_program = fileURLToPath(new URL('cell.mjs', import.meta.url));

/** Asks one cell everything: { server, client, passed, of, expected, failures: [{ name, failed }], seconds }. */
export async function cell(server, client, { mcpivot, http = false, serve = false, limit = 10 } = {}) {
  const restarts = Boolean(mcpivot) && !http;
  const names = asked(server, { restarts });
  const scratch = mkdtempSync(join(tmpdir(), 'mcpivot-eras-'));
  const task = { server, client, mcpivot: mcpivot && resolve(mcpivot), http, serve, limit: limit * 1000, scratch };
  const began = performance.now();
  // Its own process group, so that its end is the end of everything that it started.
  const child = spawn(process.execPath, [cell_program, JSON.stringify(task)], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const end_group = () => {
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {} // they are gone
  };
  process.once('exit', end_group);
  const patience = (names.length / 2 + 8) * limit * 1000;
  const timer = setTimeout(end_group, patience);
  const answers = new Map();
  createInterface(child.stdout).on('line', (line) => {
    const { name, failed, milliseconds } = JSON.parse(line);
    answers.set(name, { failed, milliseconds });
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text) => (stderr = (stderr + text).slice(-2000)));
  await once(child, 'close');
  clearTimeout(timer);
  end_group();
  process.off('exit', end_group);
  rmSync(scratch, { recursive: true, force: true, maxRetries: 5 });

  const unasked = `not asked: the cell ended before it, after ${Math.round((performance.now() - began) / 1000)} s. ${stderr}`;
  const failures = names
    .map((name) => ({ name, failed: answers.has(name) ? answers.get(name).failed : unasked }))
    .filter(({ failed }) => failed !== undefined);
  return {
    server,
    client,
    passed: names.length - failures.length,
    of: names.length,
    expected: expected(server, client, { through: Boolean(mcpivot), restarts }),
    failures,
    seconds: Math.round((performance.now() - began) / 100) / 10,
  };
}

/** All cells of these rows and columns; `jobs` at a time. */
export async function matrix({ rows = Object.keys(servers), columns = client_names, jobs = 2, ...options } = {}) {
  const todo = rows.flatMap((server) => columns.map((client) => [server, client]));
  const done = [];
  const work = async () => {
    for (let next; (next = todo.shift()); ) done.push(await cell(...next, options));
  };
  await Promise.all(Array.from({ length: jobs }, work));
  const place = ({ server, client }) => rows.indexOf(server) * columns.length + columns.indexOf(client);
  return done.sort((a, b) => place(a) - place(b));
}

export const is_below = ({ passed, expected: least }) => passed < least;

/** The table, and under it what failed in the cells that should have answered. */
export function described(cells) {
  const rows = [...new Set(cells.map(({ server }) => server))];
  const columns = [...new Set(cells.map(({ client }) => client))];
  const text = ({ passed, of, expected: least }) => `${passed} of ${of}${passed < least ? ' !' : ''}`;
  const line = (first, rest) => `| ${[first.padEnd(10), ...rest.map((each) => each.padEnd(10))].join(' | ')} |`;
  const lines = [line('', columns), `|${'------------|'.repeat(columns.length + 1)}`];
  for (const server of rows) lines.push(line(server, cells.filter((each) => each.server === server).map(text)));
  for (const each of cells.filter(({ failures, expected: least }) => least > 0 && failures.length > 0)) {
    lines.push('', `${each.server} with ${each.client} (${each.seconds} s):`);
    const reasons = Map.groupBy(each.failures, ({ failed }) => failed);
    for (const [reason, failures] of reasons) {
      const names = failures.length === each.of ? 'everything' : failures.map(({ name }) => name).join(', ');
      lines.push(`  ${names}: ${reason}`);
    }
  }
  return lines.join('\n');
}

if (import.meta.main ?? process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: {
      mcpivot: { type: 'string' },
      row: { type: 'string', multiple: true },
      column: { type: 'string', multiple: true },
      http: { type: 'boolean' },
      serve: { type: 'boolean' },
      json: { type: 'boolean' },
      limit: { type: 'string', default: '10' },
      jobs: { type: 'string', default: '2' },
    },
  });
  for (const [what, given, known] of [
    ['server', values.row, Object.keys(servers)],
    ['client', values.column, client_names],
  ]) {
    const unknown = given?.find((name) => !known.includes(name));
    if (!unknown) continue;
    console.error(`matrix.mjs: there is no ${what} "${unknown}"; there are ${known.join(', ')}`);
    process.exit(2);
  }
  const cells = await matrix({
    rows: values.row,
    columns: values.column,
    mcpivot: values.mcpivot,
    http: values.http,
    serve: values.serve,
    limit: Number(values.limit),
    jobs: Number(values.jobs),
  });
  console.log(values.json ? JSON.stringify(cells, null, 2) : described(cells));
  process.exitCode = cells.some(is_below) ? 1 : 0;
}
