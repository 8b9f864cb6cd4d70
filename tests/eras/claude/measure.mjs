// What Claude Code does for each answer to `server/discover`: the messages that a recording server reads and writes.
//   node measure.mjs PATH-TO-CLAUDE [CASE…]
// No account and no network: model.mjs stands in for the model. It calls the server's tool once, then ends.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run_claude, say, start_model, tool_results, use } from './model.mjs';

const cases = [
  ...['modern', 'both', 'legacy', 'no-method', 'unsupported-legacy', 'unsupported-modern', 'silence', 'exit'],
  ...['no-changes', 'listen-refused', 'listen-unacknowledged', 'listen-ended', 'question'].map((twist) => `modern+${twist}`),
];
const [claude, ...chosen] = process.argv.slice(2);
const recorder = fileURLToPath(new URL('recorder.mjs', import.meta.url));

/** The tools of the server that the model was offered, request by request. */
const offered = [];
/** The next thing that the model does: call the tool, if it is offered and wasn't called; otherwise end. */
const model = await start_model((asked) => {
  const names = (asked.tools ?? []).map(({ name }) => name).filter((name) => name?.startsWith('mcp__'));
  if (asked.tools?.length) offered.push(names);
  const called = tool_results(asked).length > 0;
  const ask = names.find((name) => name.endsWith('__ask'));
  return ask && !called ? use(ask) : say(called ? 'Done.' : 'There is no such tool.');
});

for (const each of chosen.length > 0 ? chosen : cases) {
  const folder = mkdtempSync(join(tmpdir(), 'mcpivot-claude-'));
  const record = join(folder, 'record');
  const config = join(folder, 'mcp.json');
  writeFileSync(record, '');
  writeFileSync(
    config,
    JSON.stringify({
      mcpServers: { recorder: { command: process.execPath, args: [recorder, each], env: { RECORD: record } } },
    }),
  );
  offered.length = 0;
  const began = performance.now();
  const printed = await run_claude(claude, { folder, config, allowed: 'mcp__recorder__ask', model });
  console.log(`== ${each}: ended after ${Math.round(performance.now() - began)} ms, printed ${JSON.stringify(printed)}`);
  for (const tools of offered) console.log(`   model offered ${JSON.stringify(tools)}`);
  process.stdout.write(readFileSync(record, 'utf8'));
  rmSync(folder, { recursive: true, force: true });
}
model.close();
