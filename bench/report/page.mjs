// Writes docs/benchmarks.md and its plots from what the benchmarks left in docs/benchmarks/*.json. Run by
// `./dev bench --against` and `./dev bench growth`.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { direct_of, judge, results_of, rows, time, ways } from './against_rows.mjs';
import { growth_section } from './growth_section.mjs';
import { bar_chart, short } from './svg.mjs';

const docs = (path) => fileURLToPath(new URL(`../../docs/${path}`, import.meta.url));
const read = (path) => (existsSync(docs(path)) ? JSON.parse(readFileSync(docs(path), 'utf8')) : undefined);

const table = (head, lines) =>
  [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

function circumstances({ machine, versions, command, date, quick }) {
  const others = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return (
    `Measured on ${date} with \`${command}\`${quick ? ' (few rounds: indicative)' : ''}: ${machine.cores} cores of ${machine.cpu}, ` +
    `Linux ${machine.kernel}, Node ${machine.node}, load average ${machine.load} at the start. ${others.join(', ')}.`
  );
}

const kind_of = (name) => (name === 'mcpivot' ? 'ours' : name === 'bare relay' || name === 'no proxy' ? 'floor' : 'rival');

function bars(results, value) {
  const all = [];
  for (const way of ways)
    for (const name of way.subjects) {
      if (way.key === 'from_http' && name === 'no proxy') continue;
      const own = results_of(results, way.key, name);
      if (!own || (name === 'no proxy' && value(own, own) === 0)) continue;
      const label = { stdio: name, to_http: `${name}, to HTTP`, from_http: `${name}, from HTTP` }[way.key];
      all.push({ label, kind: kind_of(name), value: value(own, direct_of(results, way.key)) });
    }
  return all;
}

function plots(results) {
  const added = (load) => (own, direct) => own[`${load} p50`] - direct[`${load} p50`] || 0;
  const all = {
    'added-latency': bar_chart(
      'Added to a call of 200 B, one at a time (median)',
      time,
      bars(results, added('200 B x1')).filter(({ value }) => value > 0),
      'beyond the direct way of the same kind; less is better; logarithmic',
    ),
    throughput: bar_chart(
      'Calls per second, 200 B, 32 in flight',
      (value) => `${short(value)}/s`,
      bars(results, (own) => own['200 B x32 rate']).filter(({ value }) => value > 0),
      'more is better; logarithmic',
    ),
    memory: bar_chart(
      'Memory of the proxy’s processes after the load',
      (value) => `${+value.toPrecision(3)} MB`,
      bars(results, (own) => own['memory loaded'] ?? 0).filter(({ value }) => value > 0),
      'up to 256 answers of 1 MB in flight; proportional set size; less is better; logarithmic',
    ),
    start: bar_chart(
      'From the start to the answer of tools/list',
      (value) => time(value * 1e3),
      bars(results, (own) => own['start list'] ?? 0).filter(({ value }) => value > 0),
      'a server that itself starts in about 1 ms; less is better; logarithmic',
    ),
  };
  for (const [name, svg] of Object.entries(all)) writeFileSync(docs(`benchmarks/${name}.svg`), svg);
  return Object.keys(all).map((name) => `![${name.replace('-', ' ')}](benchmarks/${name}.svg)`);
}

function way_section(way, results) {
  const subjects = way.subjects.filter((name) => results_of(results, way.key, name));
  const lines = [];
  for (const row of rows) {
    const cells = subjects.map((name) =>
      row.cell(results_of(results, way.key, name), direct_of(results, way.key), name),
    );
    if (cells.every((cell) => cell === '–')) continue;
    if (way.key === 'from_http' && subjects.every((name, i) => name === 'mcpivot' || name === 'no proxy' || cells[i] === '–')) continue;
    lines.push([row.label, ...cells, judge(row, results, way).text ?? '–']);
  }
  return `### ${way.title}\n\n${way.note ? `${way.note}\n\n` : ''}${table(['', ...subjects, 'do we lead?'], lines)}`;
}

function summary(results) {
  const verdicts = ways.flatMap((way) => rows.map((row) => ({ way, row, ...judge(row, results, way) })));
  const of = (verdict) => verdicts.filter((it) => it.verdict === verdict);
  const behind = of('NO').map(({ way, row, text }) => `- ${way.title}: ${row.label}: ${text.replace('**no**: ', '')}`);
  const level = of('tie').map(({ way, row, text }) => `- ${way.title}: ${row.label}: ${text}`);
  const text = [
    `mcpivot leads every other proxy in ${of('yes').length} rows, is level in ${of('tie').length}, and doesn't lead in ${behind.length}.`,
  ];
  if (behind.length) text.push('', 'Not ahead:', '', ...behind);
  if (level.length) text.push('', 'Level, because both have everything or neither can do better:', '', ...level);
  return text.join('\n');
}

function passthrough_section(results) {
  const lines = [];
  for (const way of ways)
    for (const [name, own] of Object.entries(results[way.key] ?? {})) {
      const seen = own.passthrough;
      if (seen) lines.push([name, way.title.replace(/ \(.*/, ''), `${seen.kept} of ${seen.of}`, seen.lost.join(', ') || 'nothing']);
    }
  return lines.length
    ? `### What gets lost\n\nThe same calls with the official SDK’s client, directly and through each proxy (\`node bench/passthrough.mjs --why\` shows both).\n\n${table(['', 'way', 'kept', 'lost'], lines)}`
    : '';
}

function against_section(against) {
  if (!against) return 'Not measured yet: `./dev bench --against`.';
  const { results } = against;
  return [
    circumstances(against),
    summary(results),
    ...plots(results),
    'How to read the tables: a time is what the proxy adds to the direct connection, with the total in parentheses. All ' +
      'programs took turns in one run, and each round starts with a different one; the numbers are medians of the rounds. ' +
      'Calls and memory were measured on one core, to show the work of the proxy and not the waking of sleeping cores. ' +
      'The server and the client are small C++ programs. Memory is that of the proxy and all processes it needs, without ' +
      'the server.',
    ...ways.map((way) => way_section(way, results)),
    passthrough_section(results),
  ].join('\n\n');
}

const text = `# Benchmarks

\`./dev bench --against\` and \`./dev bench growth\` write this page; don't edit it. The raw numbers are in
[benchmarks/](benchmarks/). Your numbers will differ; the ratios should differ less.

## Compared with other proxies

${against_section(read('benchmarks/against.json'))}

## How cost grows with load

${growth_section(read('benchmarks/growth.json'), (name, svg) => writeFileSync(docs(`benchmarks/${name}.svg`), svg), circumstances)}
`;
writeFileSync(docs('benchmarks.md'), text);
console.log('wrote docs/benchmarks.md');
