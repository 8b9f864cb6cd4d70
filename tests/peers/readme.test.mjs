// What the README and the quick starts tell a reader to do is done here, block by block, for real.
//   MCPIVOT=path/to/mcpivot node --test readme.test.mjs
// A block that nothing here knows how to follow fails. `./dev demo` and the like, which can't run within a test,
// must at least be in `./dev --help`. lib/place.mjs says what surrounds the commands.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { blocks_of } from './lib/blocks.mjs';
import { eventually, matches, mcpivot, Place } from './lib/place.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const quick_starts = blocks_of(join(root, 'docs/quick-starts.md'));
const readme = blocks_of(join(root, 'README.md'));

const file_in_quick_starts = (name) =>
  quick_starts.blocks.find((block) => block.how === `file ${name}`).text;
const text_of = (answer) => answer.content.map((block) => block.text).join('\n');
const call = async (client, name, args) => text_of(await client.callTool({ name, arguments: args }));
const commands_in = (block) => block.text.split('\n').map((line) => line.replace(/ +#.*/, '')).filter(Boolean);

const everything = 'npx -y @modelcontextprotocol/server-everything streamableHttp';

function in_dev_help(line) {
  const [, command] = line.match(/^\.\/dev (\w+)/);
  const help = spawnSync(join(root, 'dev'), ['--help'], { encoding: 'utf8' }).stdout;
  assert.match(help, new RegExp(`^  ${command}\\b`, 'm'), `./dev --help does not know ${command}`);
}

/** A server with a build, as the reader may have one. */
function write_project(place) {
  place.write('src/index.js', file_in_quick_starts('server.mjs'));
  const build = 'node --check src/index.js && mkdir -p build && cp src/index.js build/';
  place.write('package.json', JSON.stringify({ type: 'module', scripts: { build } }));
  place.shell('npm run build');
}

// --- how the blocks of the README are followed ---------------------------------------------------------------

const readme_ways = {
  'dev commands': async (place, block) => commands_in(block).forEach(in_dev_help),

  'shell in the sources': async (place, block) => {
    for (const line of commands_in(block)) {
      if (line.startsWith('./dev')) in_dev_help(line);
      else place.shell(line.replace('build/release', dirname(mcpivot)), root);
    }
    assert.match(place.shell('~/.local/bin/mcpivot version'), /^mcpivot \d/);
  },

  'shell in a home with claude': async (place, block) => {
    const file = join(place.home, '.claude.json');
    const before = '{ "theme": "dark" /* mine */ }\n';
    writeFileSync(file, before);
    for (const line of commands_in(block)) {
      const said = place.shell(line);
      assert.notEqual(said, '', `${line} says nothing`);
      const now = readFileSync(file, 'utf8');
      if (line === 'mcpivot install claude') assert.match(now, /"mcpivot"/);
      else assert.equal(now, before, `${line} left something else`);
    }
  },

  'client in a project of mine': async (place, block) => {
    write_project(place);
    const client = await place.connect_added(block.text);
    assert.equal(await call(client, 'greet', { name: 'Ada' }), 'Hello, Ada!');
    const source = file_in_quick_starts('server.mjs').replace('Hello', 'Good morning');
    place.write('src/index.js', source);
    await eventually(async () => /Good morning/.test(await call(client, 'greet', { name: 'Ada' })), 'the new one');
    place.write('src/index.js', `${source}\noops(`);
    const told = await eventually(async () => {
      const text = await call(client, 'greet', { name: 'Ada' });
      return /SyntaxError/.test(text) && text;
    }, 'the compiler is heard');
    assert.match(told, /Good morning, Ada!/, 'the old server does not serve');
  },

  'client with a daemon': async (place, block) => {
    const line = `PORT=${place.port} ${everything}`;
    await place.start_daemon(line);
    const client = await place.connect_added(block.text);
    assert.equal(await call(client, 'echo', { message: 'one' }), 'Echo: one');
    await place.stop_daemon();
    const waiting = call(client, 'echo', { message: 'two' });
    await place.start_daemon(line);
    assert.match(await waiting, /is back after .*Echo: two$/s);
  },

  'client with a cli': async (place, block) => {
    const program = file_in_quick_starts('tools.mjs');
    place.write('tools.mjs', program);
    const client = await place.connect_added(block.text);
    assert.equal(await call(client, 'count_words', { text: 'a b' }), '{"words":2}');
    place.write('tools.mjs', program.replace('{ words: ', '{ counted: '));
    assert.match(await call(client, 'count_words', { text: 'a b' }), /\{"counted":2\}$/, 'not a fresh run');
  },

  'shell in a home with three servers': async (place, block) => {
    const file = join(place.home, '.claude.json');
    const npx = (name, ...args) => ({ command: 'npx', args: ['-y', `@modelcontextprotocol/server-${name}`, ...args] });
    const servers = { all: npx('everything'), files: npx('filesystem', place.home), memory: npx('memory') };
    const before = JSON.stringify({ theme: 'dark', mcpServers: servers }, null, 2);
    writeFileSync(file, before);
    const [install, doctor, uninstall, ...more] = commands_in(block);
    assert.deepEqual(more, []);
    place.shell(install);
    const left = JSON.parse(readFileSync(file, 'utf8')).mcpServers;
    assert.deepEqual(Object.keys(left), ['mcpivot']);
    const said = place.shell(doctor);
    for (const name of Object.keys(servers)) assert.match(said, new RegExp(`^ok +${name}: ready in`, 'm'));
    const client = await place.connect([left.mcpivot.command, ...left.mcpivot.args]);
    assert.match(await call(client, 'pivot_status', {}), /^servers: 3, active: 0/);
    place.shell(uninstall);
    assert.equal(readFileSync(file, 'utf8'), before);
  },

  "a team's gateway": async (place, block) => {
    place.write('server.mjs', file_in_quick_starts('server.mjs'));
    place.write('mcpivot.json', JSON.stringify({ mcpServers: { greeter: { command: 'node', args: ['server.mjs'] } } }));
    const [tokens, serve, add, ...more] = commands_in({ text: place.text(block.text) });
    assert.deepEqual(more, []);
    place.shell(tokens);
    await place.start_daemon(serve);
    const client = await place.connect_added(add);
    assert.equal(await call(client, 'greet', { name: 'Ada' }), 'Hello, Ada!');
    await place.stop_daemon();
    await place.start_daemon(serve);
    assert.match(await call(client, 'greet', { name: 'Ada' }), /this session was resumed .*Hello, Ada!$/s);
  },

  'shell next to a running mcpivot': async (place, block) => {
    write_project(place);
    await place.connect(['mcpivot', '--build', 'npm run build', '--', 'node', 'build/index.js']);
    const expected = [/ready/, '', /generation 2/, /Hello, Ada!/];
    const lines = commands_in(block);
    assert.equal(lines.length, expected.length);
    for (const [i, line] of lines.entries())
      await eventually(async () => (await place.shell_beside(line)).match(expected[i]), line);
  },
};

// --- and those of the quick starts, which continue where the block before them ended ---------------------------

const quick_start_ways = {
  file: async (place, block, name) => place.write(name, block.text),
  client: async (place, block, rest) => {
    if (rest === '') {
      place.client = await place.connect_added(block.text);
      return;
    }
    assert.equal(rest, 'project file');
    place.shell(block.text);
    const { mcpServers } = JSON.parse(readFileSync(join(place.folder, '.mcp.json'), 'utf8'));
    place.client = await place.connect([mcpServers.mcpivot.command, ...mcpServers.mcpivot.args]);
  },
  answer: async (place, block, rest) => {
    const [, tool, args] = rest.match(/^of (\w+) (.*)$/);
    const said = await call(place.client, tool, JSON.parse(args));
    assert.ok(matches(said, place.text(block.text).trimEnd().split('\n')), `it says:\n${said}`);
  },
  daemon: async (place, block, rest) => {
    assert.ok(['', 'again'].includes(rest));
    if (rest === 'again') await place.stop_daemon();
    place.daemon_line = place.text(block.text.trim());
    await place.start_daemon(place.daemon_line);
  },
  console: async (place, block, rest) => {
    if (rest === '') return place.console(block.text);
    assert.equal(rest, 'while the daemon restarts');
    await place.stop_daemon();
    const followed = place.console(block.text);
    await place.start_daemon(place.daemon_line);
    await followed;
  },
};

// --- the tests -------------------------------------------------------------------------------------------------

function each_is_known(name, { blocks, indented }, known) {
  test(`${name}: every block says how it is followed`, () => {
    assert.deepEqual(indented, [], `${name} has code that is not fenced, at these lines`);
    for (const block of blocks) {
      const where = `${name}:${block.line}`;
      assert.ok(block.how || block.why_not, `${where}: say how to follow it, or why it is not run`);
      if (block.how) assert.ok(known(block.how), `${where}: nobody knows how to follow "${block.how}"`);
    }
    assert.ok(blocks.length > 3);
  });
}

async function in_a_place(action) {
  const place = await Place.make();
  try {
    await action(place);
  } finally {
    await place.leave();
  }
}

describe('README and quick starts', { concurrency: 2 }, () => {
  each_is_known('README.md', readme, (how) => Object.hasOwn(readme_ways, how));
  each_is_known('docs/quick-starts.md', quick_starts, (how) =>
    Object.hasOwn(quick_start_ways, how.split(' ')[0]),
  );

  for (const block of readme.blocks)
    if (Object.hasOwn(readme_ways, block.how ?? ''))
      test(`README.md:${block.line}: ${block.how}`, () =>
        in_a_place((place) => readme_ways[block.how](place, block)));

  for (const section of new Set(quick_starts.blocks.map((block) => block.section)))
    test(`docs/quick-starts.md: ${section}`, () =>
      in_a_place(async (place) => {
        for (const block of quick_starts.blocks) {
          if (block.section !== section || !block.how) continue;
          const [way, ...rest] = block.how.split(' ');
          try {
            await quick_start_ways[way](place, block, rest.join(' '));
          } catch (error) {
            error.message = `docs/quick-starts.md:${block.line}: ${error.message}`;
            throw error;
          }
        }
      }));
});
