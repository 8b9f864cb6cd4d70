// Real clients that use `mcpivot serve` over HTTP, while its server crashes and is rebuilt and mcpivot itself is
// killed. `./dev clients` installs them and runs this:
//   MCPIVOT=path/to/mcpivot node --test http.test.mjs
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { run_claude, say, start_model, tool_results, use } from '../eras/claude/model.mjs';
import { eventually, limit, Serving, token } from '../eras/lib/serving.mjs';
import { free_port } from '../peers/lib/ports.mjs';

const program = (name) => fileURLToPath(new URL(`node_modules/.bin/${name}`, import.meta.url));
const run = promisify(execFile);

async function serving(server, action) {
  const mcpivot = new Serving();
  const port = await free_port();
  await mcpivot.begin(server, `127.0.0.1:${port}`);
  try {
    await action(mcpivot, `http://127.0.0.1:${port}/mcp`);
  } finally {
    await mcpivot.end();
  }
}

const text_of = ({ content }) => (typeof content === 'string' ? content : content.map(({ text }) => text).join('\n'));

describe('Claude Code with an entry of "type": "http"', () => {
  for (const [server, era] of Object.entries({ v1: 'legacy', 'v2-modern': 'modern' })) {
    test(`in front of a ${era} server, which crashes, is rebuilt, and loses its mcpivot`, () =>
      serving(server, async (mcpivot, url) => {
        const config = join(mcpivot.folder, 'mcp.json');
        const headers = { Authorization: `Bearer ${token}` };
        writeFileSync(config, JSON.stringify({ mcpServers: { team: { type: 'http', url, headers } } }));

        const seen = [];
        let offered = [];
        // What the model does next, after something happened.
        const script = [
          () => use('mcp__team__echo', { text: 'first' }),
          () => {
            mcpivot.reached_server('count').then(() => mcpivot.kill_servers());
            return use('mcp__team__count', { steps: 100, pause: 100 });
          },
          () => use('mcp__team__echo', { text: 'second' }),
          () => {
            mcpivot.build('build-2+');
            return use('mcp__team__count', { steps: 20, pause: 100 }); // for the new list to arrive
          },
          () => use('mcp__team__build'),
          () => use('mcp__team__added'),
          async () => {
            await mcpivot.kill();
            await mcpivot.start();
            return use('mcp__team__echo', { text: 'third' });
          },
          () => say('Done.'),
        ];
        const model = await start_model(async (asked) => {
          if (!asked.tools?.some(({ name }) => name === 'mcp__team__echo')) return say('Not for this script.');
          offered = asked.tools.map(({ name }) => name);
          const results = tool_results(asked);
          seen.splice(0, seen.length, ...results.map(text_of));
          const next = await script[results.length]();
          next.content.id &&= `toolu_${results.length}`;
          return next;
        });
        const printed = await run_claude(program('claude'), {
          folder: mcpivot.folder,
          config,
          allowed: 'mcp__team',
          model,
          limit: 2 * limit,
        });
        model.close();
        const story = `${printed}\n${seen.join('\n--\n')}`;
        assert.equal(printed, 'Done.', story);
        const [first, crashed, second, , rebuilt, added, third] = seen;
        assert.equal(first, 'first', story);
        assert.match(crashed, /killed by SIGKILL/, story);
        assert.match(second, /second$/, story);
        assert.match(rebuilt, /build-2\+$/, story);
        assert.ok(offered.includes('mcp__team__added'), story);
        assert.match(added, /I am new\.$/, story);
        assert.match(third, /third$/, story);
      }));
  }
});

describe("the Inspector's command line", () => {
  for (const [server, era] of Object.entries({ v1: 'legacy', 'v2-modern': 'modern' })) {
    test(`in front of a ${era} server, which crashes and is rebuilt`, () =>
      serving(server, async (mcpivot, url) => {
        const inspect = async (...args) => {
          const options = ['--cli', url, '--transport', 'http', '--header', `Authorization: Bearer ${token}`];
          const env = { PATH: process.env.PATH, HOME: mcpivot.folder };
          const { stdout } = await run(program('mcp-inspector'), [...options, ...args], { env, timeout: limit, cwd: mcpivot.folder });
          return stdout;
        };
        const call = (tool, ...pairs) =>
          inspect('--method', 'tools/call', '--tool-name', tool, ...pairs.flatMap((pair) => ['--tool-arg', pair]));
        assert.doesNotMatch(await inspect('--method', 'tools/list'), /"added"/);
        assert.match(await call('echo', 'text=Hello.'), /Hello\./);

        const crashes = call('count', 'steps=100', 'pause=100').then((said) => said, ({ stdout }) => stdout);
        await mcpivot.reached_server('count');
        mcpivot.kill_servers();
        assert.match(await crashes, /killed by SIGKILL/);
        assert.match(await call('echo', 'text=Again.'), /Again\./);

        mcpivot.build('build-2+');
        await eventually('the new build', async () => /build-2\+/.test(await call('build')));
        assert.match(await inspect('--method', 'tools/list'), /"added"/);
        assert.match(await call('added'), /I am new\./);
      }));
  }
});
