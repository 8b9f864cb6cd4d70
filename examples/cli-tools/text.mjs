// Works on texts. Its tools for an AI: mcpivot --tools-from "node text.mjs"
import { parseArgs } from 'node:util';
import { readFileSync } from 'node:fs';

const tools = [
  {
    name: 'count_words',
    description: 'Counts the words, lines and characters of a text.',
    parameters: { properties: { text: { type: 'string' } }, required: ['text'] },
    cli_command: ['count'],
    stdin: '{text}', // may be long, so it does not go into an argument
    outputSchema: {
      type: 'object',
      properties: { words: { type: 'integer' }, lines: { type: 'integer' }, characters: { type: 'integer' } },
    },
  },
  {
    name: 'slug',
    description: 'Makes a name for a URL out of a title.',
    parameters: {
      properties: { title: { type: 'string' }, separator: { enum: ['-', '_'] }, limit: { type: 'integer', minimum: 1 } },
      required: ['title'],
    },
    cli_command: ['slug', '--title={title}', '--separator={separator}', '--limit={limit}'],
    timeout: 10,
  },
];

const options = Object.fromEntries(['title', 'separator', 'limit'].map((name) => [name, { type: 'string' }]));
const { positionals, values } = parseArgs({
  options: { ...options, json: { type: 'boolean' } },
  allowPositionals: true,
});

if (positionals[0] === 'schema') {
  console.log(JSON.stringify({ tools }));
} else if (positionals[0] === 'count') {
  const text = readFileSync(0, 'utf8');
  console.log(
    JSON.stringify({
      words: text.split(/\s+/).filter(Boolean).length,
      lines: text.split('\n').length,
      characters: [...text].length,
    }),
  );
} else if (positionals[0] === 'slug') {
  const words = values.title.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  console.log(words.join(values.separator ?? '-').slice(0, Number(values.limit ?? 100)));
} else {
  console.error('usage: text.mjs schema|count|slug');
  process.exit(2);
}
