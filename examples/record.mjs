// `./dev record`: runs the demo in a pseudo-terminal, records what it prints and when, and draws that as an
// animated picture (an SVG with CSS, no script) for the README.
//   node record.mjs OUTPUT.svg COMMAND [ARGUMENT…]
// Text and colors are those of the run. Pauses are kept up to a limit, and each line stays long enough to be read,
// so the picture is slower than the demo.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const columns = 114;
const rows = 26;
const longest_pause = 1.5; // seconds, while the compiler runs
const reading = 0.014; // seconds for each character
const last_page = 6; // seconds before it starts again

const size = { font: 13, column: 7.8, line: 18, margin: 16, bar: 34 };
const paint = {
  background: '#0d1117',
  bar: '#161b22',
  text: '#d0d7de',
  bold: '#ffffff',
  31: '#ff7b72',
  32: '#7ee787',
  33: '#e3b341',
  36: '#79c0ff',
};

// What the command prints, as pieces: { after, text }, in seconds after the previous piece.
function record(command) {
  const folder = mkdtempSync(join(tmpdir(), 'mcpivot-record-'));
  try {
    const [out, timing] = [join(folder, 'out'), join(folder, 'timing')];
    const quoted = command.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
    const line = `stty cols ${columns} rows ${rows}; exec ${quoted}`;
    execFileSync('script', ['-q', '-e', '-E', 'never', '-O', out, '-T', timing, '-c', line], {
      env: { ...process.env, TERM: 'xterm-256color', LC_ALL: 'C.UTF-8', NO_COLOR: '' },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const bytes = readFileSync(out);
    let at = bytes.indexOf('\n') + 1; // the first line is printed by script itself
    return readFileSync(timing, 'utf8')
      .trim()
      .split('\n')
      .map((entry) => entry.split(' ').map(Number))
      .map(([after, count]) => ({ after, text: bytes.subarray(at, (at += count)).toString() }));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

// The pieces as lines of { at, spans: [{ colour, bold, text }] }, wrapped at the terminal's width.
function lines_of(pieces) {
  const lines = [];
  let [spans, used, time, style] = [[], 0, 0, {}];
  const end_line = () => {
    lines.push({ at: time, spans });
    [spans, used] = [[], 0];
  };
  for (const { after, text } of pieces) {
    time += after;
    for (const [, code, character] of text.matchAll(/\x1b\[([\d;]*)m|([^])/gu)) {
      if (code !== undefined) {
        if (code === '' || code === '0') style = {};
        else if (code === '1') style = { ...style, bold: true };
        else style = { ...style, colour: code };
      } else if (character === '\n') {
        end_line();
      } else if (character !== '\r') {
        if (used++ === columns) [used] = [(end_line(), 1)];
        const last = spans.at(-1);
        if (last?.style === style) last.text += character;
        else spans.push({ style, text: character });
      }
    }
  }
  if (spans.length > 0) end_line();
  return lines;
}

// When each line is shown: as in the run, but with time to read the ones before it.
function paced(lines) {
  let shown = 0;
  return lines.map((line, i) => {
    const before = lines[i - 1];
    if (before) {
      const words = before.spans.reduce((sum, span) => sum + span.text.length, 0);
      shown += Math.max(Math.min(line.at - before.at, longest_pause), words * reading);
    }
    return { ...line, at: shown };
  });
}

const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

function drawn_line(line, number) {
  const count = line.spans.reduce((sum, span) => sum + [...span.text].length, 0);
  if (count === 0) return '';
  const words = line.spans.map(({ style, text }) => {
    const kind = style.bold ? 'b' : style.colour ? `c${style.colour}` : '';
    return kind ? `<tspan class="${kind}">${escape(text)}</tspan>` : escape(text);
  });
  const y = number * size.line + size.font;
  const length = (count * size.column).toFixed(1);
  return `<text y="${y}" textLength="${length}" xml:space="preserve">${words.join('')}</text>\n`;
}

// All lines are one below the other. A cover hides the lines still to come, and both move in steps. In a viewer
// without animation, the cover is below the first page, which stays visible.
function draw(lines) {
  const total = lines.at(-1).at + last_page;
  const percent = (time) => `${((100 * time) / total).toFixed(2)}%`;
  const steps = lines.map((line, i) => {
    const shown = i + 1;
    const scrolled = Math.max(0, shown - rows) * size.line;
    return { at: percent(line.at), cover: (shown - rows) * size.line - scrolled, scrolled };
  });
  const frames = (name, first, value) =>
    `@keyframes ${name}{0%{transform:translateY(${first}px)}` +
    steps.slice(1).map((step) => `${step.at}{transform:translateY(${value(step)}px)}`).join('') +
    '}';
  const width = columns * size.column + 2 * size.margin;
  const height = rows * size.line + size.bar + 2 * size.margin;
  const colours = [31, 32, 33, 36].map((code) => `.c${code}{fill:${paint[code]}}`).join('');
  const play = `${total.toFixed(1)}s step-end infinite`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>./dev demo: a model works on the very server that it uses</title>
<style>
text{font:${size.font}px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;fill:${paint.text};white-space:pre}
.b{fill:${paint.bold};font-weight:bold}${colours}
.scroll{animation:scroll ${play}}.cover{animation:cover ${play}}
${frames('scroll', 0, (step) => -step.scrolled)}
${frames('cover', steps[1].cover, (step) => step.cover)}
@media (prefers-reduced-motion:reduce){.scroll,.cover{animation:none}}
</style>
<rect width="${width}" height="${height}" rx="8" fill="${paint.background}"/>
<path d="M0 ${size.bar}V8a8 8 0 0 1 8-8H${width - 8}a8 8 0 0 1 8 8V${size.bar}z" fill="${paint.bar}"/>
<circle cx="20" cy="17" r="5.5" fill="#ff5f57"/><circle cx="39" cy="17" r="5.5" fill="#febc2e"/><circle cx="58" cy="17" r="5.5" fill="#28c840"/>
<text x="${width / 2}" y="22" text-anchor="middle" fill-opacity=".7">./dev demo</text>
<svg x="${size.margin}" y="${size.bar + size.margin / 2}" width="${width - 2 * size.margin}" height="${rows * size.line}">
<g class="scroll">
${lines.map(drawn_line).join('')}</g>
<rect class="cover" y="${rows * size.line}" width="${width}" height="${rows * size.line}" fill="${paint.background}"/>
</svg>
</svg>
`;
}

const [output, ...command] = process.argv.slice(2);
if (!output || command.length === 0) {
  console.error('usage: node record.mjs OUTPUT.svg COMMAND [ARGUMENT…]');
  process.exit(2);
}
let lines = lines_of(record(command));
while (lines.length > 0 && lines[0].spans.length === 0) lines.shift();
lines = paced(lines);
const picture = draw(lines);
writeFileSync(output, picture);
console.log(`${output}: ${lines.length} lines, ${lines.at(-1).at.toFixed(0)} s, ${(picture.length / 1024).toFixed(0)} KB`);
