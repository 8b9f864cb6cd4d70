// Small plots as SVG without any script: bars on a logarithmic scale, and curves. They have their own background and
// follow the reader's light or dark setting.

const style = `<style>
  .ground { fill: #ffffff } .text { fill: #1f2328; font: 13px system-ui, sans-serif } .title { font-weight: 600; font-size: 15px }
  .faint { fill: #59636e; font-size: 12px } .grid { stroke: #d1d9e0; stroke-width: 1 }
  .ours { fill: #1a7f37; stroke: #1a7f37 } .rival { fill: #8c959f; stroke: #8c959f } .floor { fill: #0969da; stroke: #0969da }
  .second { fill: #8250df; stroke: #8250df } .third { fill: #bc4c00; stroke: #bc4c00 }
  .line { fill: none; stroke-width: 2.5 } .none { fill: none }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117 } .text { fill: #f0f6fc } .faint { fill: #9198a1 } .grid { stroke: #3d444d }
    .ours { fill: #3fb950; stroke: #3fb950 } .rival { fill: #656c76; stroke: #656c76 } .floor { fill: #4493f8; stroke: #4493f8 }
    .second { fill: #ab7df8; stroke: #ab7df8 } .third { fill: #f0883e; stroke: #f0883e }
  }
</style>`;

const escaped = (text) => String(text).replace(/[&<>]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[c]);
const text = (x, y, words, { anchor = 'start', kind = '' } = {}) =>
  `<text class="text ${kind}" x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${escaped(words)}</text>`;
const page = (width, height, title, body) =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>${escaped(title)}</title>
${style}
<rect class="ground" width="${width}" height="${height}" rx="6"/>
${body.join('\n')}
</svg>
`;

/** 1234567 → "1.2 M": short enough for a label. */
export function short(value) {
  for (const [size, unit] of [[1e9, ' G'], [1e6, ' M'], [1e3, ' k']])
    if (Math.abs(value) >= size) return `${+(value / size).toPrecision(3)}${unit}`;
  return String(+value.toPrecision(3));
}

const decades = (low, high) => {
  const powers = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) powers.push(10 ** power);
  return powers;
};

/** Horizontal bars; `show` writes a value with its unit; `bars` are { label, value, kind: ours | rival | floor }, a missing value says why in `note`. */
export function bar_chart(title, show, bars, note = '') {
  const [left, right, top, row] = [250, 110, 62, 26];
  const width = 820;
  const height = top + row * bars.length + 34;
  const values = bars.map(({ value }) => value).filter((value) => value > 0);
  const ticks = decades(Math.min(...values) / 2, Math.max(...values));
  const low = Math.log10(ticks[0]);
  const span = Math.log10(ticks.at(-1)) - low || 1;
  const x = (value) => left + ((Math.log10(value) - low) / span) * (width - left - right);
  const body = [text(16, 26, title, { kind: 'title' }), text(16, 46, note, { kind: 'faint' })];
  const bottom = top + row * bars.length;
  for (const tick of ticks)
    body.push(
      `<line class="grid" x1="${x(tick)}" y1="${top - 4}" x2="${x(tick)}" y2="${bottom}"/>`,
      text(x(tick), bottom + 18, show(tick), { anchor: 'middle', kind: 'faint' }),
    );
  bars.forEach(({ label, value, kind, note: why }, i) => {
    const y = top + row * i;
    body.push(text(left - 10, y + 16, label, { anchor: 'end' }));
    if (!(value > 0)) return body.push(text(left + 6, y + 16, why ?? 'nothing measured', { kind: 'faint' }));
    const end = Math.max(x(value), left + 2);
    body.push(
      `<rect class="${kind}" x="${left}" y="${y + 3}" width="${(end - left).toFixed(1)}" height="${row - 8}" rx="2"/>`,
      text(end + 7, y + 16, show(value)),
    );
  });
  return page(width, height, title, body);
}

/** Curves on two logarithmic axes; `curves` are { label, kind, points: [[x, y], …] }. */
export function curve_chart(title, x_name, y_name, curves, note = '') {
  const [width, height, left, right, top, bottom] = [840, 380, 90, 190, 70, 60];
  const all = curves.flatMap(({ points }) => points).filter(([x, y]) => x > 0 && y > 0);
  const x_ticks = decades(Math.min(...all.map(([x]) => x)), Math.max(...all.map(([x]) => x)));
  const y_ticks = decades(Math.min(...all.map(([, y]) => y)), Math.max(...all.map(([, y]) => y)));
  const scale = (ticks, from, to) => {
    const low = Math.log10(ticks[0]);
    const span = Math.log10(ticks.at(-1)) - low || 1;
    return (value) => from + ((Math.log10(value) - low) / span) * (to - from);
  };
  const x = scale(x_ticks, left, width - right);
  const y = scale(y_ticks, height - bottom, top);
  const body = [text(16, 26, title, { kind: 'title' }), text(16, 46, note, { kind: 'faint' })];
  for (const tick of x_ticks)
    body.push(
      `<line class="grid" x1="${x(tick)}" y1="${top}" x2="${x(tick)}" y2="${height - bottom}"/>`,
      text(x(tick), height - bottom + 18, short(tick), { anchor: 'middle', kind: 'faint' }),
    );
  for (const tick of y_ticks)
    body.push(
      `<line class="grid" x1="${left}" y1="${y(tick)}" x2="${width - right}" y2="${y(tick)}"/>`,
      text(left - 8, y(tick) + 4, short(tick), { anchor: 'end', kind: 'faint' }),
    );
  body.push(
    text((left + width - right) / 2, height - 16, x_name, { anchor: 'middle', kind: 'faint' }),
    text(left, top - 8, y_name, { anchor: 'middle', kind: 'faint' }),
  );
  // Labels at the ends of the curves must not overlap.
  const labels = curves
    .map(({ points, label }) => ({ label, y: y(points.at(-1)[1]) + 4 }))
    .sort((a, b) => a.y - b.y);
  for (let i = 1; i < labels.length; i++) labels[i].y = Math.max(labels[i].y, labels[i - 1].y + 17);
  const dashes = ['', '7 4', '2 4', '10 3 2 3'];
  curves.forEach(({ points, kind }, i) => {
    const path = points.map(([px, py], at) => `${at ? 'L' : 'M'}${x(px).toFixed(1)} ${y(py).toFixed(1)}`).join('');
    body.push(`<path class="line ${kind} none" d="${path}" style="fill:none" stroke-dasharray="${dashes[i % 4]}"/>`);
    for (const [px, py] of points)
      body.push(`<circle class="${kind}" cx="${x(px).toFixed(1)}" cy="${y(py).toFixed(1)}" r="3"/>`);
  });
  for (const { label, y: at } of labels) body.push(text(width - right + 10, at, label));
  return page(width, height, title, body);
}
