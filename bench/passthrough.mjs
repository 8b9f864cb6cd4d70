// Which features of the official server-everything survive a proxy: each is tried directly and through every
// rival, in the ways that it supports, with the official SDK's client, and what the client sees must be the same.
//
//   node bench/passthrough.mjs [--rivals A,B] [--json FILE]
//
// One connection for each way and proxy, one feature after the other; a feature that hangs is lost after 4 s.
process.env.TEST_PATIENCE_SECONDS = '4';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const require = createRequire(here('../tests/peers/package.json'));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { Peer, attempt } = await import('../tests/peers/lib/peer.mjs');
const { comparable_handshake } = await import('../tests/peers/lib/allowed.mjs');
const { normaliser } = await import('../tests/peers/lib/same.mjs');
const { everything, everything_daemon, environment } = await import('../tests/peers/lib/commands.mjs');
const { Tap } = await import('../tests/peers/lib/tap.mjs');
const { SSEClientTransport } = await load('@modelcontextprotocol/sdk/client/sse.js');
const { StreamableHTTPClientTransport } = await load('@modelcontextprotocol/sdk/client/streamableHttp.js');
const { CreateTaskResultSchema, EmptyResultSchema } =
  await load('@modelcontextprotocol/sdk/types.js');

const option = (name) => {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
};
const chosen = option('--rivals')?.split(',');
const scratch = mkdtempSync(join(tmpdir(), 'mcpivot-passthrough-'));
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));
const patience = 4000;

// --- the features ------------------------------------------------------------------------------------------

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const by_name = (list) => [...list].sort((a, b) => (a.name < b.name ? -1 : 1));
/** The server's tools alone, without what a proxy added of its own. */
const of_server = ({ tools }) => tools.filter(({ name }) => !/^(pivot|sitter)_/.test(name));
const read = ({ client }, uri) => attempt(() => client.readResource({ uri }));
const prompt = ({ client }, name, args) => attempt(() => client.getPrompt({ name, arguments: args }));
const complete = ({ client }, ref, argument) => attempt(() => client.complete({ ref, argument }));
/** How often the client was asked, and the outcome. */
const asked = async (peer, method, tool, args) => {
  const before = peer.received.matching(method).length;
  const result = await peer.call(tool, args);
  return { asked: peer.received.matching(method).slice(before).map(({ params }) => params), result };
};

/** name: what the client sees. `tap`: what the server sees, which only a server on pipes can tell us. */
const features = {
  'server info': ({ client }) => client.getServerVersion(),
  instructions: ({ client }) => client.getInstructions(),
  capabilities: ({ client }) => comparable_handshake({ capabilities: client.getServerCapabilities() }),
  'tools/list, every field': async ({ client }) => by_name(of_server(await client.listTools())),
  'tools that need sampling, elicitation or roots': async ({ client }) =>
    of_server(await client.listTools())
      .map(({ name }) => name)
      .filter((name) => /sampling|elicitation|roots/.test(name))
      .sort(),
  'a call': (peer) => peer.call('echo', { message: 'hello, 漢字 🙂 "quoted" \\' }),
  'a call with a megabyte': (peer) => peer.call('echo', { message: 'Zeile "x"\n'.repeat(100_000) }),
  '100 calls at once': async (peer) =>
    Promise.all(Array.from({ length: 100 }, (_, i) => peer.call('echo', { message: `number ${i}` }))),
  'structured content': (peer) => peer.call('get-structured-content', { location: 'Chicago' }),
  'an image': (peer) => peer.call('get-tiny-image', {}),
  annotations: (peer) => peer.call('get-annotated-message', { messageType: 'error', includeImage: true }),
  'links to resources': (peer) => peer.call('get-resource-links', { count: 3 }),
  'an embedded resource': (peer) => peer.call('get-resource-reference', { resourceType: 'Text', resourceId: 7 }),
  'the error of wrong arguments': (peer) => peer.call('echo', { message: 5 }),
  'the error of an unknown tool': (peer) => peer.call('no-such-tool', {}),
  'the error of an unknown method': ({ client }) =>
    attempt(() => client.request({ method: 'no/such-method' }, EmptyResultSchema)),
  ping: ({ client }) => client.ping(),
  progress: async (peer) => {
    // Read off the wire: the SDK drops a step that arrives together with the answer.
    const options = { onprogress: () => {} };
    const result = await peer.call('trigger-long-running-operation', { duration: 0.3, steps: 3 }, options);
    await attempt(() => peer.received.until('notifications/progress', 3));
    const steps = peer.received.matching('notifications/progress').slice(0, 3);
    return { steps: steps.map(({ params: { progress, total } }) => ({ progress, total })), result };
  },
  'cancellation reaches the server': {
    tap: async (peer, tap) => {
      const giving_up = new AbortController();
      const args = { duration: 1, steps: 2 };
      const options = { signal: giving_up.signal, onprogress: () => giving_up.abort('changed my mind') };
      await peer.call('trigger-long-running-operation', args, options);
      await peer.call('echo', { message: 'fence' });
      const seen = tap.received().map((line) => JSON.parse(line));
      return seen.filter(({ method }) => method === 'notifications/cancelled').map(({ params }) => params.reason);
    },
  },
  'unknown fields and _meta reach the server': {
    tap: async (peer, tap) => {
      const params = {
        name: 'echo',
        arguments: { message: 'with more' },
        future: { field: true },
        _meta: { 'vendor/trace': '00-ab-01' },
      };
      await peer.client.request({ method: 'tools/call', params }, EmptyResultSchema.passthrough());
      const seen = tap.received().map((line) => JSON.parse(line));
      return seen.filter((it) => it.params?.arguments?.message === 'with more').map(({ params: it }) => it);
    },
  },
  'unknown notifications reach the server': {
    tap: async (peer, tap) => {
      await peer.client.notification({ method: 'notifications/of-no-known-kind', params: { deep: [null] } });
      await peer.call('echo', { message: 'fence' });
      return tap.received().some((line) => line.includes('of-no-known-kind'));
    },
  },
  sampling: (peer) =>
    asked(peer, 'sampling/createMessage', 'trigger-sampling-request', { prompt: 'Hi', maxTokens: 7 }),
  'elicitation of a form': (peer) => asked(peer, 'elicitation/create', 'trigger-elicitation-request', {}),
  'elicitation by URL': (peer) =>
    asked(peer, 'elicitation/create', 'trigger-url-elicitation', { url: 'https://example.invalid/' }),
  roots: (peer) => peer.call('get-roots-list', {}),
  'roots that change': async (peer) => {
    const before = peer.received.matching('roots/list').length;
    await peer.client.sendRootsListChanged();
    await peer.received.until('roots/list', before + 1);
    return 'asked again';
  },
  'prompts/list': async ({ client }) => by_name((await client.listPrompts()).prompts),
  'a prompt': (peer) => prompt(peer, 'simple-prompt'),
  'a prompt with arguments': (peer) => prompt(peer, 'args-prompt', { city: 'Zürich' }),
  'a prompt with a resource': (peer) =>
    prompt(peer, 'resource-prompt', { resourceType: 'Text', resourceId: '3' }),
  'completion for a prompt': (peer) =>
    complete(peer, { type: 'ref/prompt', name: 'completable-prompt' }, { name: 'department', value: 'S' }),
  'completion for a resource': (peer) =>
    complete(
      peer,
      { type: 'ref/resource', uri: 'demo://resource/dynamic/text/{resourceId}' },
      { name: 'resourceId', value: '1' },
    ),
  'resources/list': async ({ client }) => by_name((await client.listResources()).resources),
  'resource templates': async ({ client }) => by_name((await client.listResourceTemplates()).resourceTemplates),
  'a resource as text': (peer) => read(peer, 'demo://resource/dynamic/text/12'),
  'a resource as a blob': (peer) => read(peer, 'demo://resource/dynamic/blob/13'),
  'the error of an unknown resource': (peer) => read(peer, 'demo://resource/static/document/none.md'),
  'updates of a subscribed resource': async (peer) => {
    const uri = 'demo://resource/dynamic/text/1';
    const before = peer.received.matching('notifications/resources/updated').length;
    await peer.client.subscribeResource({ uri });
    await peer.call('toggle-subscriber-updates', {});
    try {
      return (await peer.received.until('notifications/resources/updated', before + 1)).params;
    } finally {
      await peer.call('toggle-subscriber-updates', {});
    }
  },
  'the log, at the level that was set': async (peer) => {
    const before = peer.received.matching('notifications/message').length;
    await peer.client.setLoggingLevel('info');
    await peer.client.subscribeResource({ uri: 'demo://resource/dynamic/text/2' });
    return (await peer.received.until('notifications/message', before + 1)).params.level;
  },
  'a task: created, asked about, cancelled': async ({ client }) => {
    const params = { name: 'simulate-research-query', arguments: { topic: 'Pivots' }, task: { ttl: 60_000 } };
    const { task } = await client.request({ method: 'tools/call', params }, CreateTaskResultSchema);
    const { tasks } = client.experimental;
    const states = [task, await tasks.getTask(task.taskId), await tasks.cancelTask(task.taskId)];
    return states.map(({ taskId, status, ttl }) => ({ taskId, status, ttl }));
  },
};

const within = (promise) =>
  Promise.race([
    promise,
    sleep(patience + 500).then(() => Promise.reject(new Error(`nothing within ${patience / 1000} s`))),
  ]);

/** Tries them all: { name: { seen } or { error } }. */
async function try_all(peer, tap) {
  const outcomes = {};
  for (const [name, feature] of Object.entries(features)) {
    if (feature.tap && !tap) continue;
    try {
      const seen = await within(feature.tap ? feature.tap(peer, tap) : feature(peer));
      outcomes[name] = { seen: normaliser().any(seen) };
    } catch (error) {
      outcomes[name] = { error: String(error.message).split('\n')[0] };
    }
  }
  return outcomes;
}

// --- the ways ----------------------------------------------------------------------------------------------

const rivals = (path) => here(`rivals/node_modules/${path}`);
const peers = (path) => here(`../tests/peers/node_modules/${path}`);
const node = process.execPath;
const mcpivot = process.env.MCPIVOT ?? here('../build/release/mcpivot');

function free_port() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

async function listening(port) {
  for (const end = Date.now() + 20_000; Date.now() < end; await sleep(20)) {
    const open = await new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1', () => (socket.destroy(), resolve(true)));
      socket.on('error', () => resolve(false));
    });
    if (open) return;
  }
  throw new Error(`nobody listens on port ${port}`);
}

function start(children, command, env = {}) {
  const child = spawn(command[0], command.slice(1), {
    stdio: 'ignore',
    detached: true,
    env: { ...process.env, ...environment, HOME: scratch, ...env },
  });
  children.push(child);
}
function end_all(children) {
  for (const child of children.splice(0)) {
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // it has ended
    }
  }
}

/**
 * mcp-hub puts its name for a server before the names of tools and prompts and before URIs; for the comparison it is
 * taken off.
 */
class HubTransport {
  constructor(url) {
    this.inner = new SSEClientTransport(url);
    this.inner.onclose = () => this.onclose?.();
    this.inner.onerror = (error) => this.onerror?.(error);
    this.inner.onmessage = (message) => {
      const { tools, prompts, resources, resourceTemplates, contents } = message.result ?? {};
      for (const item of [tools, prompts, resources, resourceTemplates, contents].flatMap((list) => list ?? []))
        for (const key of ['name', 'uri', 'uriTemplate'])
          if (item[key]) item[key] = item[key].replace(/^e__/, '');
      this.onmessage?.(message);
    };
  }
  start() {
    return this.inner.start();
  }
  close() {
    return this.inner.close();
  }
  send(message) {
    const key = { 'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri' }[message.method];
    if (key) message = { ...message, params: { ...message.params, [key]: `e__${message.params[key]}` } };
    return this.inner.send(message);
  }
}

let taps = 0;
function tapped_server() {
  const tap = new Tap(join(scratch, `tap-${++taps}`));
  const command = ['/usr/bin/env', `SERVER_TAP=${tap.folder}`, node, '--require', here('../tests/peers/lib/server-tap.cjs')];
  return { tap, server: [...command, ...everything.slice(1)] };
}

/** Over pipes, a server behind pipes. */
const by_stdio = (command) => async () => {
  const { tap, server } = tapped_server();
  return { tap, peer: await Peer.connect(command(server), { env: { HOME: scratch } }) };
};

/** Over pipes, a daemon. */
const to_http = (command) => async (children) => {
  const port = await free_port();
  start(children, everything_daemon, { PORT: String(port) });
  await listening(port);
  const url = `http://127.0.0.1:${port}/mcp`;
  return { peer: await Peer.connect(command ? command(url) : new URL(url), { env: { HOME: scratch } }) };
};

/** Over HTTP, a server behind pipes. */
const from_http =
  (command, transport = (url) => new StreamableHTTPClientTransport(url)) =>
  async (children) => {
    const { tap, server } = tapped_server();
    const port = String(await free_port());
    start(children, command(server, port));
    await listening(Number(port));
    const url = new URL(`http://127.0.0.1:${port}/mcp`);
    for (const end = Date.now() + 10_000; ; await sleep(100)) {
      try {
        return { tap, peer: await Peer.connect(transport(url)) };
      } catch (error) {
        if (Date.now() > end) throw error;
      }
    }
  };

function hub_command(server, port) {
  const file = join(scratch, `hub-${port}.json`);
  writeFileSync(file, JSON.stringify({ mcpServers: { e: { command: server[0], args: server.slice(1) } } }));
  return [node, rivals('mcp-hub/dist/cli.js'), '--port', port, '--config', file];
}

const supergateway = rivals('supergateway/dist/index.js');
const ways = {
  stdio: {
    'no proxy': by_stdio((server) => server),
    mcpivot: by_stdio((server) => [mcpivot, '--', ...server]),
    'mcp-sitter': by_stdio((server) => [peers('@ytsuda/mcp-sitter-linux-x64/bin/mcp-sitter'), ...server]),
  },
  to_http: {
    'no proxy': to_http(),
    mcpivot: to_http((url) => [mcpivot, '--url', url]),
    'mcp-remote': to_http((url) => [
      node,
      peers('mcp-remote/dist/proxy.js'),
      ...[url, '--allow-http', '--transport', 'http-only', '--silent'],
    ]),
    supergateway: to_http((url) => [
      node,
      supergateway,
      ...['--streamableHttp', url, '--outputTransport', 'stdio', '--logLevel', 'none'],
    ]),
  },
  from_http: {
    mcpivot: from_http((server, port) => [mcpivot, 'serve', '--listen', `127.0.0.1:${port}`, '--', ...server]),
    'mcp-proxy': from_http((server, port) => [
      node,
      rivals('mcp-proxy/dist/bin/mcp-proxy.mjs'),
      ...['--host', '127.0.0.1', '--port', port, '--server', 'stream', '--', ...server],
    ]),
    supergateway: from_http((server, port) => [
      node,
      supergateway,
      ...['--stdio', server.join(' '), '--outputTransport', 'streamableHttp', '--stateful'],
      ...['--port', port, '--logLevel', 'none'],
    ]),
    'mcp-hub': from_http(hub_command, (url) => new HubTransport(url)),
  },
};

// --- the contest -------------------------------------------------------------------------------------------

async function outcomes_of(way) {
  let peer;
  const children = [];
  try {
    const connection = await way(children);
    peer = connection.peer;
    // The server looks for roots 0.35 s after the handshake, and shows the tools that need them then.
    await attempt(() => peer.received.until(({ params }) => /^Roots updated/.test(params?.data)));
    return await try_all(peer, connection.tap);
  } catch (error) {
    return { failure: String(error.message).split('\n')[0] };
  } finally {
    await Promise.race([attempt(() => peer?.close()), sleep(1000)]);
    end_all(children);
  }
}

const same = (a, b) => {
  try {
    assert.deepStrictEqual(a, b);
    return true;
  } catch {
    return false;
  }
};

/** What was lost, compared with a direct connection. */
function compared(reference, outcomes) {
  const all = Object.keys(reference).filter((feature) => !reference[feature].error);
  const lost = all.filter((feature) => !same(outcomes[feature], reference[feature]));
  return { kept: all.length - lost.length, of: all.length, lost, failure: outcomes.failure };
}

function show(way, name, { kept, of, lost, failure }) {
  const missing = lost.length ? `; lost: ${lost.join(', ')}` : '';
  console.log(`  ${way.padEnd(10)}${name.padEnd(13)}${kept} of ${of}${missing}${failure ? ` (${failure})` : ''}`);
}

function show_why(reference, outcomes, { lost }) {
  for (const feature of lost)
    for (const [where, outcome] of Object.entries({ directly: reference[feature], here: outcomes[feature] }))
      console.log(`    ${feature}, ${where}: ${JSON.stringify(outcome)?.slice(0, 400)}`);
}

/** One proxy after the other; the ways run side by side, since nothing is timed here. */
async function outcomes_of_way(subjects) {
  const outcomes = {};
  for (const [name, run] of Object.entries(subjects))
    if (!chosen || ['no proxy', 'mcpivot', ...chosen].includes(name)) outcomes[name] = await outcomes_of(run);
  return outcomes;
}

const names = Object.keys(ways);
const seen = await Promise.all(names.map((way) => outcomes_of_way(ways[way])));
const results = {};
names.forEach((way, i) => {
  const reference = seen[i]['no proxy'] ?? seen[0]['no proxy'];
  results[way] = {};
  for (const [name, outcomes] of Object.entries(seen[i])) {
    if (name === 'no proxy') {
      const failing = Object.entries(outcomes).filter(([, { error }]) => error);
      for (const [feature, { error }] of failing) console.log(`${way}: directly, ${feature} fails: ${error}`);
      continue;
    }
    results[way][name] = compared(reference, outcomes);
    show(way, name, results[way][name]);
    if (process.argv.includes('--why')) show_why(reference, outcomes, results[way][name]);
  }
});
if (option('--json')) writeFileSync(option('--json'), JSON.stringify(results));
process.exit(0);
