// The part of docs/benchmarks.md about growth: a plot and a table for each kind of more.
import { time } from './against_rows.mjs';
import { curve_chart, short } from './svg.mjs';

const kinds = ['ours', 'rival', 'floor', 'second', 'third'];

function plot_section({ name, title, x, curves }, save) {
  const times = curves.filter(({ unit }) => unit === 'ms');
  save(
    name,
    curve_chart(
      title,
      x,
      'ms',
      times.map(({ label, points }, i) => ({ label, kind: kinds[i], points: points.map(([at, y]) => [at, y]) })),
      'time on the clock; both axes logarithmic',
    ),
  );
  const head = ['', ...curves.map(({ label }) => label)];
  const lines = curves[0].points.map(([at], i) => [
    `${short(at)} ${x}`,
    ...curves.map(({ unit, points }) =>
      unit === 'MB' ? `${points[i][1].toFixed(1)} MB` : `${time(points[i][1] * 1e3)} (${time(points[i][2] * 1e3)})`,
    ),
  ]);
  lines.push([
    'exponent',
    ...curves.map(({ exponent, judged }) =>
      exponent.toFixed(2) + (judged && exponent > 1.25 ? ' **superlinear**' : ''),
    ),
  ]);
  const table = [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
  return `### ${title}\n\n![${title}](benchmarks/${name}.svg)\n\n${table}`;
}

export function growth_section(growth, save, circumstances) {
  if (!growth) return 'Not measured yet: `./dev bench growth`.';
  return [
    circumstances(growth),
    'Wall-clock time, the best of several tries, with mcpivot’s CPU time in parentheses (without a proxy: the server’s). The ' +
      'exponent describes the upper end, the last decade of each curve: 1 is linear, 0 is flat. `--check` fails above 1.25, ' +
      'because caches and fresh memory cost more once a curve outgrows them. Messages over 10 MB need `--max-message`; here it ' +
      'was 100 MB.',
    ...growth.plots.map((plot) => plot_section(plot, save)),
  ].join('\n\n');
}
