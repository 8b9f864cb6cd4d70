// Every feature of server-filesystem, server-memory and a program's tools, as something that can be asked of
// any Side. Each leaves things as it found them, so that it can be asked again.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { text_tools } from '../lib/commands.mjs';

const works = (result) => {
  assert.ok(!result.failed && !result.isError, JSON.stringify(result).slice(0, 300));
  return result;
};

/** Calls one tool after the other; returns the answers by tool. */
async function ask_all(side, calls) {
  const results = [];
  for (const [tool, args] of calls) results.push([tool, works(await side.call(tool, args))]);
  return results;
}

export const file_scenarios = {
  'every tool': async (side) => {
    const tools = await side.tools();
    const at = (name) => `${side.peer.folder}/work/${name}`;
    rmSync(at('new'), { recursive: true, force: true });
    const results = await ask_all(side, [
      ['list_allowed_directories', {}],
      ['list_directory', { path: at('') }],
      ['list_directory_with_sizes', { path: at(''), sortBy: 'size' }],
      ['read_file', { path: at('first.txt') }],
      ['read_text_file', { path: at('first.txt'), head: 1 }],
      ['read_media_file', { path: at('picture.png') }],
      ['create_directory', { path: at('new') }],
      ['write_file', { path: at('new/second.txt'), content: 'a "b" \\ 🙂\nc\n' }],
      ['read_multiple_files', { paths: [at('first.txt'), at('new/second.txt'), at('none')] }],
      ['edit_file', { path: at('new/second.txt'), edits: [{ oldText: 'c', newText: 'd' }] }],
      ['search_files', { path: at(''), pattern: '**/*.txt' }],
      ['directory_tree', { path: at('') }],
      ['get_file_info', { path: at('new/second.txt') }],
      ['move_file', { source: at('new/second.txt'), destination: at('new/third.txt') }],
      ['read_text_file', { path: at('new/third.txt') }],
    ]);
    const asked = new Set(results.map(([tool]) => tool));
    assert.deepEqual(
      tools.map(({ name }) => name).filter((name) => !asked.has(name)),
      [],
      'no tool is left out',
    );
    const refused = [
      await side.call('read_text_file', { path: '/etc/passwd' }),
      await side.call('read_text_file', { path: at('none') }),
      await side.call('write_file', { path: at('x') }),
    ];
    refused.forEach((result) => assert.ok(result.isError));
    return { tools, results: JSON.parse(without_times(results)), refused };
  },
};

const without_times = (value) =>
  JSON.stringify(value).replace(/(created|modified|accessed): [^\\]*\\n/g, '$1: <time>\\n');

export const memory_scenarios = {
  'every tool, the resource, and its updates': async (side) => {
    const tools = await side.tools();
    const uri = 'memory://knowledge-graph';
    const empty = await side.read(uri);
    works(await side.subscribe(uri));
    const results = await ask_all(side, [
      [
        'create_entities',
        {
          entities: [
            { name: 'Ada', entityType: 'person', observations: ['writes "notes" 🙂'] },
            { name: 'Engine', entityType: 'machine', observations: [] },
          ],
        },
      ],
      ['create_relations', { relations: [{ from: 'Ada', to: 'Engine', relationType: 'programs' }] }],
      ['add_observations', { observations: [{ entityName: 'Engine', contents: ['is large', 'is slow'] }] }],
      ['read_graph', {}],
      ['search_nodes', { query: 'engine' }],
      ['open_nodes', { names: ['Ada'] }],
      ['delete_observations', { deletions: [{ entityName: 'Engine', observations: ['is slow'] }] }],
      ['delete_relations', { relations: [{ from: 'Ada', to: 'Engine', relationType: 'programs' }] }],
    ]);
    const full = works(await side.read(uri));
    assert.match(full.contents[0].text, /is large/);
    results.push(...(await ask_all(side, [['delete_entities', { entityNames: ['Ada', 'Engine'] }]])));
    const asked = new Set(results.map(([tool]) => tool));
    assert.deepEqual(
      tools.map(({ name }) => name).filter((name) => !asked.has(name)),
      [],
      'no tool is left out',
    );
    const refused = await side.call('add_observations', {
      observations: [{ entityName: 'Nobody', contents: ['x'] }],
    });
    assert.ok(refused.isError);
    works(await side.unsubscribe(uri));
    const updates = side.seen(
      ({ method, params }) => method === 'notifications/resources/updated' && params.uri === uri,
    );
    assert.equal(updates.length, 6);
    return { tools, empty, results, full, refused, updates, list: await side.resources('memory://') };
  },
};

/** What the program itself prints. */
const printed = (args, input = '') =>
  execFileSync(text_tools[0], [text_tools[1], ...args, '--json'], { input, encoding: 'utf8' });

export const text_scenarios = {
  "every tool, with the program's own output": async (side) => {
    const tools = await side.tools();
    assert.deepEqual(
      tools.map(({ name }) => name),
      ['count_words', 'slug'],
    );
    const text = 'zwei "Wörter"\nund 🙂 mehr';
    const count = works(await side.call('count_words', { text }));
    assert.deepEqual(count.structuredContent, JSON.parse(printed(['count'], text)));
    const slug = works(await side.call('slug', { title: 'Ein Titel, nicht kurz', separator: '_', limit: 9 }));
    assert.equal(
      slug.content[0].text.trim(),
      printed(['slug', '--title=Ein Titel, nicht kurz', '--separator=_', '--limit=9']).trim(),
    );
    const refused = [await side.call('slug', { title: 'x', limit: 0 }), await side.call('count_words', {})];
    refused.forEach((result) => assert.ok(result.isError || result.failed));
    return { tools, count, slug, refused };
  },
};
