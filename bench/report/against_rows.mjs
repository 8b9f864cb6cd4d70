// The rows of the comparison: how each is read from the results, shown in a cell, and judged.

/** The ways, and which subjects are in each table. */
export const ways = [
  {
    key: 'stdio',
    title: 'A client and a server on pipes (stdio to stdio)',
    subjects: ['no proxy', 'bare relay', 'mcpivot', 'mcp-sitter'],
  },
  {
    key: 'to_http',
    title: 'A client on pipes, an HTTP daemon (stdio to HTTP)',
    subjects: ['no proxy', 'mcpivot', 'mcp-remote', 'supergateway'],
  },
  {
    key: 'from_http',
    title: 'An HTTP client, a server on pipes (HTTP to stdio)',
    note:
      '"No proxy" is a client of an HTTP daemon, as in the second table. mcpivot is `mcpivot serve`, with one server per ' +
      'client, like supergateway; mcp-proxy and mcp-hub have one for all clients. mcp-hub uses the older HTTP+SSE.',
    subjects: ['no proxy', 'mcpivot', 'mcp-proxy', 'supergateway', 'mcp-hub'],
  },
];

/** Where a subject's results are. A daemon without a proxy is the same, whatever the client of a proxy speaks. */
export const results_of = (results, way, subject) =>
  (way === 'from_http' && subject === 'no proxy' ? results.to_http : results[way])?.[subject];
/** What is added to: the direct way of the same kind. */
export const direct_of = (results, way) => results_of(results, way, 'no proxy');

export function time(us) {
  const sign = us < 0 ? '−' : '';
  const value = Math.abs(us);
  if (value >= 1e6) return `${sign}${+(value / 1e6).toPrecision(3)} s`;
  if (value >= 1e3) return `${sign}${+(value / 1e3).toPrecision(3)} ms`;
  return `${sign}${+value.toPrecision(3)} µs`;
}
const count = (value) => Math.round(value).toLocaleString('en');
const number = (value) => (typeof value === 'number' ? value : undefined);
const failure_of = (value) => (value?.failure ? `failed: ${value.failure.slice(0, 60)}` : undefined);

const sizes = ['200 B', '10 KB', '1 MB'];
const windows = [1, 32, 256];

/** Less is better; relative to the direct way, and in brackets as it is. */
const latency = (load, share) => ({
  key: `${load} ${share}`,
  label: `${load.replace(' x', ', ')} in flight, ${share}: added (in all)`,
  less: true,
  cell: (own, direct, subject) => {
    const value = number(own?.[`${load} ${share}`]);
    if (value === undefined) return failure_of(own?.[load]) ?? '–';
    if (subject === 'no proxy') return `(${time(value)})`;
    return `${time(value - direct[`${load} ${share}`])} (${time(value)})`;
  },
  value: (own, direct) => {
    const value = number(own?.[`${load} ${share}`]);
    return value === undefined ? undefined : value - direct?.[`${load} ${share}`];
  },
  whole: (own) => number(own?.[`${load} ${share}`]),
});

const rate = (load) => ({
  key: `${load} rate`,
  label: `${load.replace(' x', ', ')} in flight, calls/s`,
  less: false,
  cell: (own) => {
    const value = number(own?.[`${load} rate`]);
    return value === undefined ? (failure_of(own?.[load]) ?? '–') : count(value);
  },
  value: (own) => number(own?.[`${load} rate`]),
});

const plain = (key, label, show) => ({
  key,
  label,
  less: true,
  cell: (own) => (number(own?.[key]) === undefined ? (failure_of(own?.[key.replace(/ \w+$/, '')]) ?? '–') : show(own[key])),
  value: (own) => number(own?.[key]),
});
const ms = (value) => time(value * 1000);
const megabytes = (value) => `${value.toFixed(1)} MB`;

const ended = (seen) => (seen.ended ? `the connection ended (${seen.ended})` : undefined);

/** A fault: `score` is what is compared, lexically, smaller is better. */
const fault = (key, label, cell, score) => ({
  key,
  label,
  less: true,
  cell: (own, direct, subject) => {
    const seen = own?.[key];
    if (!seen) return '–';
    return failure_of(seen) ?? cell(seen, subject);
  },
  score: (own) => (own?.[key] ? (own[key].failure ? [Infinity] : score(own[key])) : undefined),
});

const reloaded = (seen) =>
  ended(seen) ??
  (seen.ms === null
    ? 'cannot: the old server answers for 5 s on'
    : `${ms(seen.ms)}; ${seen.failed} failed, ${seen.lost} lost of ${seen.calls}`);
const reload_score = (seen) => [
  seen.ms === null ? 1 : 0,
  (seen.failed ?? 0) + (seen.lost ?? 0),
  seen.ms ?? Infinity,
];

export const rows = [
  ...sizes.flatMap((size) =>
    windows.flatMap((window) => {
      const load = `${size} x${window}`;
      return [latency(load, 'p50'), latency(load, 'p99'), rate(load)];
    }),
  ),
  plain('memory idle', 'memory, idle (whole tree)', megabytes),
  plain('memory loaded', 'memory after the load', megabytes),
  plain('start initialize', 'start to the answer of `initialize`', ms),
  plain('start list', 'start to the answer of `tools/list`', ms),
  {
    ...plain('slow start list', 'the same, a server that takes 300 ms to start; (known from before)', ms),
    cell: (own) => {
      if (number(own?.['slow start list']) === undefined) return '–';
      const again = number(own['cached start list']);
      return ms(own['slow start list']) + (again === undefined ? '' : ` (${ms(again)})`);
    },
    // One that knows the server from before is judged by that: every start except the first one is like that.
    value: (own) => number(own?.['cached start list']) ?? number(own?.['slow start list']),
  },
  fault('replace', 'the server’s file is replaced under load: first new answer', reloaded, reload_score),
  fault('reload', 'the same, asked for', reloaded, reload_score),
  fault(
    'crash',
    'SIGKILL to the server, a call in flight',
    (seen) =>
      [
        seen.answered ? `answered${seen.named ? ', names SIGKILL' : ', no reason'}` : 'never answered',
        ended(seen) ??
          (seen.recovered_ms === null
            ? 'calls fail for 10 s on'
            : `calls work after ${ms(seen.recovered_ms)}${seen.again ? ', in a new session' : ''}` +
              (seen.probes_lost ? `, ${seen.probes_lost} lost` : '')),
      ].join('; '),
    (seen) => [
      seen.answered ? 0 : 1,
      seen.named ? 0 : 1,
      seen.ended || seen.recovered_ms === null ? 1 : 0,
      seen.recovered_ms ?? Infinity,
    ],
  ),
  fault(
    'away',
    'the daemon is away for 5 s, 10 calls/s',
    (seen) =>
      `${seen.answered} answered, ${seen.failed} failed, ${seen.hung} hung of ${seen.calls}` +
      (seen.back_ms === null ? '; never again' : `; works ${ms(seen.back_ms)} after its return`),
    (seen) => [seen.failed + seen.hung, seen.back_ms ?? Infinity],
  ),
  fault(
    'orphans',
    'processes left 3 s after `kill -9` of the proxy',
    (seen) => `${seen.left} of ${seen.before}`,
    (seen) => [seen.left],
  ),
  fault(
    'passthrough',
    'features of server-everything that survive',
    (seen) => `${seen.kept} of ${seen.of}`,
    (seen) => [seen.of - seen.kept],
  ),
];

function compare(a, b) {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return a[i] - b[i];
  return 0;
}

/** Whether mcpivot leads all rivals of this way in this row: { verdict: yes | tie | NO | undefined, text }. */
export function judge(row, results, way) {
  const rivals = way.subjects.filter((name) => !['no proxy', 'bare relay', 'mcpivot'].includes(name));
  const of = (name) => [results_of(results, way.key, name), direct_of(results, way.key)];
  if (row.score) {
    const ours = row.score(of('mcpivot')[0]);
    const theirs = rivals.map((name) => ({ name, score: row.score(of(name)[0]) })).filter(({ score }) => score);
    if (!ours || !theirs.length) return {};
    const ahead = theirs.filter(({ score }) => compare(score, ours) < 0);
    if (ahead.length) return { verdict: 'NO', text: `**no**: ${ahead.map(({ name }) => name).join(', ')}` };
    const level = theirs.filter(({ score }) => compare(score, ours) === 0);
    return level.length
      ? { verdict: 'tie', text: `level with ${level.map(({ name }) => name).join(', ')}` }
      : { verdict: 'yes', text: 'yes' };
  }
  const ours = row.value(...of('mcpivot'));
  const failed = rivals.filter((name) => of(name)[0] && row.value(...of(name)) === undefined && row.cell(...of(name), name) !== '–');
  const theirs = rivals.map((name) => ({ name, value: row.value(...of(name)) })).filter(({ value }) => value !== undefined);
  if (ours === undefined) return row.cell(...of('mcpivot')) === '–' ? {} : { verdict: 'NO', text: '**no**: it failed' };
  if (!theirs.length) return failed.length ? { verdict: 'yes', text: 'yes, it alone' } : {};
  const best = theirs.reduce((a, b) => ((row.less ? a.value <= b.value : a.value >= b.value) ? a : b));
  const mine = row.whole ? row.whole(of('mcpivot')[0]) : ours;
  const other = row.whole ? row.whole(of(best.name)[0]) : best.value;
  const factor = row.less ? other / mine : mine / other;
  if (row.less ? mine < other : mine > other)
    return { verdict: 'yes', text: factor > 0 && isFinite(factor) ? `yes, ${+factor.toPrecision(3)}×` : 'yes' };
  return { verdict: 'NO', text: `**no**: ${best.name} ${+factor.toPrecision(3)}×` };
}
