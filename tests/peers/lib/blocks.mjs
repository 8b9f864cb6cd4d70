// The code blocks of a Markdown file, each with the comment that says how the tests follow it:
//   <!-- follow: HOW -->        on the line before the block; readme.test.mjs knows each HOW
//   <!-- not run: WHY -->       for what can't be followed here
import { readFileSync } from 'node:fs';

/** [{ line, section, language, how, why_not, text }], and the lines that are indented code instead. */
export function blocks_of(file) {
  const lines = readFileSync(file, 'utf8').split('\n');
  const blocks = [];
  const indented = [];
  let [section, block] = ['', null];
  lines.forEach((line, i) => {
    if (block) {
      if (line.startsWith('```')) {
        blocks.push({ ...block, text: block.lines.join('\n') + '\n' });
        block = null;
      } else {
        block.lines.push(line);
      }
      return;
    }
    if (line.startsWith('```')) {
      const comment = lines[i - 1] ?? '';
      block = {
        line: i + 1,
        section,
        language: line.slice(3),
        how: comment.match(/^<!-- follow: (.*) -->$/)?.[1],
        why_not: comment.match(/^<!-- not run: (.+) -->$/)?.[1],
        lines: [],
      };
    } else if (line.startsWith('#')) {
      section = line.replace(/^#+ /, '');
    } else if (/^( {4}|\t)\S/.test(line) && lines[i - 1]?.trim() === '') {
      indented.push(i + 1);
    }
  });
  if (block) throw new Error(`${file}: the block of line ${block.line} has no end`);
  return { blocks, indented };
}
