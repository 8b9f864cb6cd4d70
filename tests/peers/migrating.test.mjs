// What docs/migrating.md says about mcp-sitter and mcp-remote is true: their command lines and ours in the
// tables give a client the same tools, and they differ where it says so.
//   MCPIVOT=path/to/mcpivot node --test migrating.test.mjs
import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { blocks_of } from './lib/blocks.mjs';
import { eventually, Place } from './lib/place.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const modules = join(root, 'tests/peers/node_modules');
const sitter = join(modules, '@ytsuda/mcp-sitter-linux-x64/bin/mcp-sitter');
const page = readFileSync(join(root, 'docs/migrating.md'), 'utf8');

const section = (name) => page.split(/^## /m).find((text) => text.startsWith(name));
/** [[before, now]] of the first table, where both are whole commands. */
const commands_in = (text) =>
  [...text.matchAll(/^\| `([^`]+)` \| `([^`]+)` \|$/gm)].map(([, before, now]) => [before, now]);

const in_place = async (action) => {
  const place = await Place.make();
  try {
    await action(place);
  } finally {
    await place.leave();
  }
};
/** A command as the page has it, run by a shell, which knows quotes. */
const through_shell = (line) => ['bash', '-c', `exec ${line}`];
const own_tools = async (client) =>
  (await client.listTools()).tools
    .map((tool) => tool.name)
    .filter((name) => !/^(pivot|sitter)_/.test(name))
    .sort();
const attempt = (client, name, args, timeout = 60_000) =>
  client.callTool({ name, arguments: args }, undefined, { timeout }).then(
    (answer) => answer.content.map((block) => block.text).join('\n'),
    (error) => `error: ${error.message}`,
  );
const has_ended = (pid) => {
  if (!existsSync(`/proc/${pid}`)) return true;
  return /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
};

/** Its own program, in the folder and one below, that greets, reports its pid, and can be slow. */
function write_server(place) {
  const { text } = blocks_of(join(root, 'docs/quick-starts.md')).blocks.find(({ how }) => how === 'file server.mjs');
  const slow = text
    .replace("text: `Hello, ${params.arguments.name}!`", 'text: `Hello, ${params.arguments.name} of ${process.pid}!`')
    .replace('if (id === undefined) return;', "if (id === undefined || params?.arguments?.name === 'nobody') return;");
  assert.notEqual(slow, text);
  for (const folder of ['.', 'FOLDER']) {
    place.write(`${folder}/server.mjs`, slow);
    place.write(`${folder}/server`, '#!/bin/sh\nexec node server.mjs "$@"\n');
    chmodSync(join(place.folder, folder, 'server'), 0o755);
  }
  symlinkSync(sitter, join(place.home, '../bin/mcp-sitter'));
}

describe('from mcp-sitter', { concurrency: 2 }, () => {
  const rows = commands_in(section('From mcp-sitter'));
  test('equivalent command lines do the same', () =>
    in_place(async (place) => {
      write_server(place);
      assert.ok(rows.length >= 3);
      for (const [before, now] of rows) {
        const theirs = await own_tools(await place.connect(through_shell(before)));
        assert.deepEqual(theirs, ['greet'], before);
        assert.deepEqual(await own_tools(await place.connect(through_shell(now))), theirs, now);
      }
    }));

  test('the tools have the same names, arguments and keys', () =>
    in_place(async (place) => {
      write_server(place);
      const both = [];
      for (const line of ['mcp-sitter -- ./server', 'mcpivot --compat mcp-sitter -- ./server'])
        both.push(await place.connect(through_shell(line)));
      const tools = [];
      for (const client of both) {
        const { tools: all } = await client.listTools();
        const mine = all.filter(({ name }) => name.startsWith('sitter_'));
        tools.push(
          Object.fromEntries(mine.map(({ name, inputSchema }) => [name, Object.keys(inputSchema.properties ?? {})])),
        );
      }
      assert.deepEqual(tools[1], tools[0]);
      for (const tool of ['sitter_status', 'sitter_binary_info']) {
        const [theirs, ours] = await Promise.all(both.map((client) => attempt(client, tool, {})));
        const missing = Object.keys(JSON.parse(theirs)).filter(
          (key) => key !== 'isDebug' && !Object.hasOwn(JSON.parse(ours), key),
        );
        assert.deepEqual(missing, [], `${tool} lacks keys`);
      }
      for (const client of both) {
        await attempt(client, 'sitter_kill', {});
        assert.match(await attempt(client, 'greet', { name: 'Ada' }), /Hello, Ada/);
      }
    }));

  test('mcpivot answers a call in flight when the server dies, and mcp-sitter does not', () =>
    in_place(async (place) => {
      write_server(place);
      const fates = [];
      for (const line of ['mcp-sitter -- ./server', 'mcpivot -- ./server']) {
        const client = await place.connect(through_shell(line));
        const [, pid] = (await attempt(client, 'greet', { name: 'Ada' })).match(/of (\d+)!/);
        const fate = attempt(client, 'greet', { name: 'nobody' }, 8_000);
        await attempt(client, 'greet', { name: 'Ada' }); // the one before it has also arrived
        process.kill(Number(pid), 'SIGKILL');
        await eventually(() => has_ended(Number(pid)), 'the server is dead');
        fates.push(await fate);
      }
      assert.match(fates[0], /timed out/);
      assert.match(fates[1], /was killed by SIGKILL/);
    }));
});

describe('from mcp-remote', () => {
  const rows = commands_in(section('From mcp-remote')).filter(([, now]) => now.startsWith('mcpivot'));
  const daemon = (place) => `PORT=${place.port} npx -y @modelcontextprotocol/server-everything streamableHttp`;
  const filled = (place, line) =>
    place.text(line).replace(/\bURL\b/, `http://127.0.0.1:${place.port}/mcp`);

  test('equivalent command lines do the same', () =>
    in_place(async (place) => {
      await place.start_daemon(daemon(place));
      place.env.TOKEN = 'a-token';
      let tried = 0;
      for (const [before, now] of rows) {
        if (before.includes('FILE')) continue; // certificates: tests/http_test.cpp
        ++tried;
        const theirs = await own_tools(await place.connect(through_shell(filled(place, before))));
        const ours = await own_tools(await place.connect(through_shell(filled(place, now))));
        assert.ok(theirs.length > 5, before);
        assert.deepEqual(ours.filter((name) => theirs.includes(name)), theirs, now);
      }
      assert.ok(tried >= 2);
    }));

  test('mcpivot waits for a daemon that restarts, and mcp-remote loses it', () =>
    in_place(async (place) => {
      await place.start_daemon(daemon(place));
      const [theirs, ours] = [
        await place.connect(through_shell(filled(place, 'npx mcp-remote URL'))),
        await place.connect(through_shell(filled(place, 'mcpivot --url URL'))),
      ];
      for (const client of [theirs, ours]) assert.equal(await attempt(client, 'echo', { message: 'a' }), 'Echo: a');
      await place.stop_daemon();
      const waiting = attempt(ours, 'echo', { message: 'b' });
      assert.match(await attempt(theirs, 'echo', { message: 'b' }), /^error: /);
      await place.start_daemon(daemon(place));
      assert.match(await waiting, /Echo: b$/);
      assert.match(await attempt(theirs, 'echo', { message: 'c' }), /^error: .*session/i);
      assert.equal(await attempt(ours, 'echo', { message: 'c' }), 'Echo: c');
    }));
});
