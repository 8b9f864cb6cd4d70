// Six real servers behind one mcpivot: every feature of each gives the same result as when asked directly,
// even while one of them is killed repeatedly.
//   MCPIVOT=path/to/mcpivot node --test gateway.test.mjs
// One gateway and one direct client for each server live through all tests; gateway/fleet.mjs starts them.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { everything_resources, everything_tools } from './gateway/everything_scenarios.mjs';
import { Fleet, until } from './gateway/fleet.mjs';
import { file_scenarios, memory_scenarios, text_scenarios } from './gateway/other_scenarios.mjs';

let fleet;
before(async () => (fleet = await Fleet.start()));
after(() => fleet?.stop());

/** Passes if the scenario sees the same through the gateway as directly; returns what the gateway told. */
async function same(name, scenario) {
  const [through, direct] = fleet.both(name);
  const play = async (way, side) => {
    try {
      side.begin();
      return side.comparable(await scenario(side));
    } catch (error) {
      error.message = `${way}, ${name}: ${error.message}`;
      throw error;
    }
  };
  const [got, wanted] = await Promise.allSettled([
    play('through mcpivot', through),
    play('directly', direct),
  ]);
  for (const way of [wanted, got]) if (way.status === 'rejected') throw way.reason;
  assert.deepStrictEqual(got.value, wanted.value);
  return through.notices;
}

// The reference server is here three times; one of them is enough unless all are wanted (./dev test --deep).
const everything = { ...everything_tools, ...everything_resources };
const scenarios_of = {
  one: everything,
  ...(process.env.MCPIVOT_DEEP === '1' && { two: everything, daemon: everything }),
  files: file_scenarios,
  memory: memory_scenarios,
  text: text_scenarios,
};

describe('the gateway gives the same results as a direct connection', () => {
  for (const [name, scenarios] of Object.entries(scenarios_of)) {
    describe(name, () => {
      if (Fleet.everythings.includes(name)) before(() => fleet.show_only(name));
      for (const [title, scenario] of Object.entries(scenarios))
        test(title, async () => assert.deepEqual(await same(name, scenario), []));
    });
  }
});

describe('with all servers together', () => {
  before(() => fleet.show_all());

  test('the lists contain everything in the order of the file', async () => {
    const { tools } = await fleet.gateway.client.listTools();
    const servers = tools.map(({ name }) => name.split('__')[0]).filter((name) => !name.startsWith('pivot_'));
    assert.deepEqual([...new Set(servers)], Fleet.names);
    const { resources } = await fleet.gateway.client.listResources();
    assert.equal(
      new Set(resources.map(({ uri }) => uri)).size,
      resources.length,
      'no URI appears twice',
    );
  });

  test('an inactive server can be called through pivot_call', async () => {
    for (const name of Fleet.names) await fleet.gateway.call('pivot_deactivate', { server: name });
    const calls = {
      one: ['get-sum', { a: 1, b: 2 }],
      two: ['get-tiny-image', {}],
      files: ['list_allowed_directories', {}],
      memory: ['read_graph', {}],
      text: ['count_words', { text: 'a b' }],
      daemon: ['trigger-sampling-request', { prompt: 'x', maxTokens: 3 }],
    };
    for (const [name, call] of Object.entries(calls)) await same(name, (side) => side.call_by_way(...call));
    for (const name of Fleet.names) await fleet.gateway.call('pivot_activate', { server: name });
  });

  test('a change of roots reaches every server', async () => {
    const change = async (peer, folder, telling) => {
      const before_it = peer.received.matching(({ params }) => /^Roots updated/.test(params?.data)).length;
      peer.answers['roots/list'] = () => ({ roots: [{ uri: `file://${peer.folder}/${folder}` }] });
      await peer.client.sendRootsListChanged();
      await peer.received.until(({ params }) => /^Roots updated/.test(params?.data), before_it + telling);
    };
    for (const folder of ['more', 'work']) {
      await Promise.all([
        change(fleet.gateway, folder, Fleet.everythings.length),
        ...Fleet.everythings.map((name) => change(fleet.direct[name], folder, 1)),
        change(fleet.direct.files, folder, 0),
      ]);
      for (const name of Fleet.everythings) await same(name, (side) => side.call('get-roots-list', {}));
      await until('the new folder to be known', async () => {
        const all = await Promise.all(
          fleet.both('files').map((side) => side.call('list_allowed_directories', {})),
        );
        return all.every(({ content }) => content[0].text.endsWith(`/${folder}`));
      });
    }
  });
});

describe('while one of them is killed repeatedly', () => {
  const pauses = [700, 0, 100, 1500, 0, 300]; // even before it has started, and during its handshake
  const least_kills = 5;
  let killing = true;
  let kills = 0;
  let killer;
  let caller;
  const answers_of_second = { own: 0, reports: 0 };
  let others;

  before(async () => {
    await fleet.show_all();
    others = fleet.others();
    assert.equal(others.length, 3, JSON.stringify(fleet.processes()));
    killer = (async () => {
      while (killing) {
        const pid = await until('the next start of the second server', () => fleet.second() ?? !killing);
        if (pid === true) return;
        await new Promise((resolve) => setTimeout(resolve, pauses[kills % pauses.length]));
        process.kill(pid, 'SIGKILL');
        ++kills;
        await until('its end', () => fleet.second() !== pid);
      }
    })();
    // Every call of the killed server is answered: as usual, or with a report.
    caller = (async () => {
      for (let i = 0; killing; ++i) {
        const result = await fleet.gateway.call('two__echo', { message: `${i}` });
        const text = result.content?.at(-1).text;
        if (text === `Echo: ${i}`) ++answers_of_second.own;
        else if (result.isError && text?.startsWith('[mcpivot]')) ++answers_of_second.reports;
        else throw new Error(`call ${i} of the killed server got ${JSON.stringify(result)}`);
      }
    })();
    killer.catch(() => {});
    caller.catch(() => {});
  });

  // Each server goes through its scenarios, all servers at once, until there were enough kills.
  test('all calls to the others give the same results', async () => {
    const all = {
      one: everything,
      daemon: everything_tools, // the first one is asked for the URIs that both have
      files: file_scenarios,
      memory: memory_scenarios,
      text: text_scenarios,
    };
    const told = [];
    const ways = await Promise.allSettled(
      Object.entries(all).map(async ([name, scenarios]) => {
        let round = 0;
        do {
          for (const scenario of Object.values(scenarios)) told.push(...(await same(name, scenario)));
        } while (++round < 1 || kills < least_kills);
      }),
    );
    for (const way of ways) if (way.status === 'rejected') throw way.reason;
    for (const notice of told) assert.match(notice, /"two"/);
    assert.ok(kills >= least_kills, `${kills} kills`);
  });

  test('the killed one restarts, and the others keep their processes', async (context) => {
    killing = false;
    await Promise.all([killer, caller]);
    context.diagnostic(`${kills} kills; calls meanwhile: ${JSON.stringify(answers_of_second)}`);
    assert.ok(answers_of_second.own > 0);
    await until('an answer of its own', async () => {
      const { isError } = await fleet.gateway.call('two__echo', { message: 'back' });
      return !isError;
    });
    await same('two', everything_tools['every tool that asks the client nothing']);
    assert.deepEqual(fleet.others(), others);
  });
});
