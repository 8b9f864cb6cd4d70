// The documentation matches the program: links lead somewhere, quoted messages are in the source, the control
// tools are as described, and every command and option exists.
//   MCPIVOT=path/to/mcpivot node --test docs.test.mjs
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { blocks_of } from './lib/blocks.mjs';
import { mcpivot, matches, Place } from './lib/place.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path) => readFileSync(join(root, path), 'utf8');
const files_below = (folder, fits) =>
  readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return ['node_modules', 'build', '.git'].includes(entry.name) ? [] : files_below(path, fits);
    return fits(path) ? [path] : [];
  });
const pages = files_below('.', (path) => path.endsWith('.md'));

// --- links -----------------------------------------------------------------------------------------------------

/** As GitHub derives them from headings. */
const anchor = (heading) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
const anchors_of = (path) =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => /^#+ /.test(line))
    .map((line) => anchor(line.replace(/^#+ /, '')));

function broken_links(page) {
  const text = read(page).replace(/^```[^]*?^```/gm, '').replace(/`[^`\n]*`/g, '');
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link]) => link)
    .filter((link) => !/^[a-z]+:/.test(link))
    .filter((link) => {
      const [path, to] = link.split('#');
      const target = path === '' ? join(root, page) : resolve(root, dirname(page), path);
      return !existsSync(target) || (to !== undefined && !anchors_of(target).includes(to));
    })
    .map((link) => `${page}: ${link}`);
}

// --- messages ----------------------------------------------------------------------------------------------------

/** Everything that the program may print: the literals of the source, those in pieces joined. */
function words_of_the_program() {
  return files_below('src', (path) => /(?<!_test)\.(cpp|h)$/.test(path))
    .map((path) => read(path).replace(/"\s*\n\s*"/g, ''))
    .join('\n')
    .replaceAll('\\"', '"')
    .replaceAll('\\n', '\n')
    .replaceAll('{{', '{')
    .replaceAll('}}', '}');
}

/** Messages of the system and of other programs, which aren't in our source. */
const foreign = ['Text file busy', 'Connection refused', 'Permission denied', 'SIGSEGV', 'SIGKILL'];

/** The fixed parts of a message, between those that vary. */
const fixed_parts = (message) =>
  message
    .split(new RegExp(`…|"…"|\\(…\\)|${foreign.join('|')}`))
    .map((part) => part.trim())
    .filter((part) => /\w{3}/.test(part));

// --- commands ----------------------------------------------------------------------------------------------------

const help = (...command) => execFileSync(mcpivot, [...command, '--help'], { encoding: 'utf8' });
const long_options = (text) => [...new Set([...text.matchAll(/^ +(?:-\w,)?(--[a-z-]+)/gm)].map(([, name]) => name))];

function all_commands() {
  const words = [...help().matchAll(/^(?:Usage:)? +mcpivot ([a-z|]+)/gm)].flatMap(([, names]) =>
    names.split('|').filter(Boolean),
  );
  const listed = help().split(/^(?:Subcommands|Commands.*):$/m).slice(1).join('\n');
  return [...new Set([...words, ...[...listed.matchAll(/^  ([a-z]+) {2,}/gm)].map(([, name]) => name)])];
}

describe('the documentation', () => {
  test('every relative link leads somewhere', () => {
    assert.ok(pages.length > 10, 'where are the pages?');
    assert.deepEqual(pages.flatMap(broken_links), []);
  });

  test('every page of docs/ is linked from the README and from docs/README.md', () => {
    for (const page of readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md') && name !== 'README.md')) {
      assert.ok(read('README.md').includes(`docs/${page}`), `README.md does not link docs/${page}`);
      assert.ok(read('docs/README.md').includes(`(${page}`), `docs/README.md does not link ${page}`);
    }
  });

  test('the README and quick starts have lines of at most 120 columns, except tables and links', () => {
    for (const page of ['README.md', 'docs/quick-starts.md'])
      for (const line of read(page).split('\n'))
        if (!/^\||\]\(/.test(line)) assert.ok([...line].length <= 122, `${page}: ${line}`);
  });

  test('each message in troubleshooting.md exists in the program', () => {
    const said = words_of_the_program();
    const rows = read('docs/troubleshooting.md').split('\n').filter((line) => /^\| (?!symptom)/.test(line));
    assert.ok(rows.length >= 25, `only ${rows.length} entries`);
    let checked = 0;
    const missing = [];
    for (const row of rows) {
      assert.equal(row.split(' | ').length, 3, `a row has three columns: ${row}`);
      const symptom = row.split(' | ')[0];
      for (const [, message] of symptom.matchAll(/`([^`]+)`/g)) {
        if (/^mcpivot (status|check)/.test(message)) continue;
        for (const part of fixed_parts(message)) {
          if (!said.includes(part)) missing.push(`"${part}", quoted in: ${message}`);
          ++checked;
        }
      }
    }
    assert.deepEqual(missing, [], 'the program does not say this');
    assert.ok(checked > 40, `only ${checked} pieces of messages were looked at`);
  });

  test('each test named in promises.md exists', () => {
    const tests_in = (folder, options) =>
      readdirSync(join(root, folder), options)
        .filter((name) => name.endsWith('_test.cpp'))
        .map((name) => read(`${folder}/${name}`));
    const sources = [...tests_in('tests'), ...tests_in('src', { recursive: true })].join('');
    const named = [...read('docs/promises.md').matchAll(/`([A-Z]\w+)\.(\w+)`/g)];
    assert.ok(named.length >= 25, `only ${named.length} tests are named`);
    for (const [, suite, name] of named)
      assert.match(sources, new RegExp(`TEST\\w*\\(${suite},\\s+${name}\\)`), `${suite}.${name}`);
  });

  test('every command and option of --help is in commands.md', () => {
    const page = read('docs/commands.md');
    for (const option of long_options(help())) assert.ok(page.includes(`\`${option}`), `no ${option}`);
    const commands = all_commands();
    assert.ok(commands.length >= 15, `found only ${commands}`);
    for (const command of commands) {
      assert.match(page, new RegExp(`\\| \`mcpivot ${command}\\b`), `no row for ${command}`);
      for (const option of long_options(help(command)))
        if (!['--help', '--version'].includes(option))
          assert.ok(page.includes(`\`${option}`), `mcpivot ${command} has ${option}, which is not there`);
    }
    for (const [, option] of page.matchAll(/^\| `(--[a-z-]+)/gm))
      assert.ok((help() + help('serve')).includes(option), `${option} is there, but not in --help`);
  });

  test('the picture of the demo is up to date', () => {
    const picture = read('docs/demo.svg');
    const headlines = [...read('examples/demo.cpp').matchAll(/ tell\(\s*"([^"]+)"/g)].map(([, words]) => words.trim());
    assert.ok(headlines.length > 4);
    for (const words of headlines) assert.ok(picture.includes(words), `run ./dev record: it does not show "${words}"`);
    assert.doesNotMatch(picture, /<script|href=/, 'GitHub would not show it');
  });

  test('every option of ./dev mentioned in the README exists', () => {
    const usage = spawnSync(join(root, 'dev'), ['--help'], { encoding: 'utf8' }).stdout;
    for (const [, command, what] of read('README.md').matchAll(/\.\/dev (\w+)(?: (\w+))?/g)) {
      assert.match(usage, new RegExp(`^  ${command}\\b`, 'm'), `./dev ${command}`);
      if (command === 'bench' && what) assert.match(usage, new RegExp(`^ +${what}:`, 'm'), `./dev bench ${what}`);
    }
  });
});

// --- control tools -------------------------------------------------------------------------------------------------

const control = read('docs/control-tools.md');

/** { tool: { argument: type } } as described; those "of several" only when asked for. */
function described_arguments(several) {
  const tools = {};
  for (const [, tool, list] of control.matchAll(/^## (pivot_\w+)\n\nArguments: (.*)$/gm)) {
    tools[tool] = {};
    for (const [, name, type, rest] of list.matchAll(/`(\w+)` \((\w+)(, of several)?\)/g))
      if (several || !rest) tools[tool][name] = type;
  }
  return tools;
}

async function real_arguments(client) {
  const { tools } = await client.listTools();
  return Object.fromEntries(
    tools
      .filter(({ name }) => /^(pivot_|sitter_|gateway_|recompile$)/.test(name))
      .map(({ name, inputSchema }) => [
        name,
        Object.fromEntries(Object.entries(inputSchema.properties).map(([key, { type }]) => [key, type])),
      ]),
  );
}

async function in_a_place_with_servers(action) {
  const place = await Place.make();
  try {
    const server = blocks_of(join(root, 'docs/quick-starts.md')).blocks.find(({ how }) => how === 'file server.mjs');
    place.write('server.mjs', server.text);
    const greeter = { command: 'node', args: ['server.mjs'], cwd: '.' };
    const alpha = { ...greeter, active: true, build: 'node --check server.mjs' };
    place.write('mcpivot.json', JSON.stringify({ mcpServers: { alpha, beta: greeter } }));
    await action(place);
  } finally {
    await place.leave();
  }
}
const several = ['mcpivot', '--config', 'mcpivot.json'];
const alone = ['mcpivot', '--build', 'true', '--', 'node', 'server.mjs'];

describe('control-tools.md', { concurrency: 2 }, () => {
  test('lists each tool with its arguments', () =>
    in_a_place_with_servers(async (place) => {
      assert.deepEqual(await real_arguments(await place.connect(several)), described_arguments(true));
      const listed = await real_arguments(await place.connect(alone));
      assert.ok(Object.keys(listed).length > 2);
      for (const [tool, args] of Object.entries(listed)) assert.deepEqual(args, described_arguments(false)[tool], tool);
    }));

  test('lists the tools of --compat', () =>
    in_a_place_with_servers(async (place) => {
      for (const [, program, list] of control.matchAll(/^\| `([a-z-]+)` \| (`(?:recompile|sitter_|gateway_).*) \|$/gm)) {
        const [command, ...rest] = program === 'mcpflip' ? several : alone;
        const client = await place.connect([command, '--compat', program, ...rest]);
        const expected = [...list.matchAll(/`(\w+)`/g)].map(([, name]) => name);
        assert.deepEqual(Object.keys(await real_arguments(client)).sort(), expected.sort());
      }
    }));

  test('quotes real results', () =>
    in_a_place_with_servers(async (place) => {
      const client = await place.connect(several);
      const { blocks } = blocks_of(join(root, 'docs/control-tools.md'));
      await place.until_ready(['alpha', 'beta']);
      for (const { line, how, text } of blocks) {
        assert.equal(how, 'answer', `control-tools.md:${line}`);
        const [asked, ...expected] = text.trimEnd().split('\n');
        const [, name, json] = asked.match(/^> (\w+) (.*)$/);
        const answer = await client.callTool({ name, arguments: JSON.parse(json) });
        const said = answer.content.map((block) => block.text).join('\n').trimEnd();
        assert.ok(matches(said, expected), `control-tools.md:${line}: ${asked}\n${said}\n-- instead of\n${expected.join('\n')}`);
      }
    }));
});
