// What each cell of the matrix is asked: (peer, words) → nothing, or an error with the reason. Their order matters
// only at the end: what changes the server's lists, and what ends the server, comes last.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

const all_text = ({ content, contents, messages }) =>
  (content ?? contents ?? messages.map((message) => message.content)).map(({ text }) => text).join('\n');

function says(result, expected) {
  const said = all_text(result);
  assert.ok(said.includes(expected), `it says ${JSON.stringify(said.slice(0, 300))}, not ${JSON.stringify(expected)}`);
}

async function good(peer, call, expected, options) {
  const result = await peer.call(call, options);
  assert.ok(!result.isError, `${call[0]} failed: ${all_text(result).slice(0, 300)}`);
  says(result, expected);
  return result;
}

async function lists(peer, method, field, expected, key = 'name') {
  const found = (await peer.ask(method))[field].map((item) => item[key]);
  const missing = expected.filter((each) => !found.includes(each));
  if (missing.length > 0) assert.fail(`${missing} missing in ${JSON.stringify(found)}`);
}

/** A request that must fail with one of these codes. */
async function refused(action, what, codes) {
  const result = await action.then(
    (value) => ({ value }),
    (error) => ({ error }),
  );
  if (result.value?.isError && codes.includes('isError')) return;
  if (!result.error) assert.fail(`${what} was answered: ${JSON.stringify(result.value).slice(0, 300)}`);
  assert.ok(codes.includes(result.error.code), `${what} failed with ${result.error.code} (${result.error.message})`);
}

const elicitations = (peer) => peer.asked.filter(({ method }) => method === 'elicitation/create');

const progress_in = (peer, since) =>
  peer.received.slice(since).filter(({ method }) => method === 'notifications/progress');

/** Makes a call and waits until the server is working on it: for its first progress. */
async function under_way(peer, call, options = {}) {
  const since = peer.received.length;
  const answer = peer.call(call, { onprogress: () => {}, ...options });
  answer.catch(() => {}); // the caller looks at it
  const first = (message) => message.method === 'notifications/progress' && peer.received.indexOf(message) >= since;
  await Promise.race([peer.until(peer.received, first, 'progress'), answer]);
  return { answer };
}

export const questions = {
  'tools list': (peer, { tools }) => lists(peer, 'listTools', 'tools', tools),
  'prompts list': (peer, { prompts }) => lists(peer, 'listPrompts', 'prompts', prompts),
  'resources list': (peer, { resources }) => lists(peer, 'listResources', 'resources', resources, 'uri'),
  'templates list': (peer, { templates }) =>
    lists(peer, 'listResourceTemplates', 'resourceTemplates', templates, 'uriTemplate'),

  'tool call': (peer, { echo }) => good(peer, ...echo),
  async 'structured content'(peer, { structured: [call, expected] }) {
    const { structuredContent } = await peer.call(call);
    assert.partialDeepStrictEqual(structuredContent, expected);
  },
  async 'tool error'(peer, { fail: [call, expected] }) {
    const result = await peer.call(call);
    assert.equal(result.isError, true, 'isError is not set');
    says(result, expected);
  },
  async 'protocol error'(peer) {
    await refused(peer.ask('getPrompt', { name: 'no-such-prompt' }), 'an unknown prompt', [-32602]);
    await refused(peer.call(['no-such-tool']), 'an unknown tool', [-32602, 'isError']); // v1 and v2 servers differ
    const unknown = peer.modern ? [-32602] : [-32602, -32002];
    await refused(peer.ask('readResource', { uri: 'test://no-such' }), 'an unknown resource', unknown);
  },
  async 'prompt get'(peer, { prompt: [params, expected] }) {
    says(await peer.ask('getPrompt', params), expected);
  },
  async completion(peer, { complete: [params, expected] }) {
    const { completion } = await peer.ask('complete', params);
    assert.deepEqual(completion.values, expected);
  },
  async 'resource read'(peer, { read: [uri, expected] }) {
    says(await peer.ask('readResource', { uri }), expected);
  },
  async 'template read'(peer, { read_template: [uri, expected] }) {
    says(await peer.ask('readResource', { uri }), expected);
  },

  async 'elicitation once'(peer, { elicit: [call, expected] }) {
    const before = elicitations(peer).length;
    await good(peer, call, expected);
    assert.equal(elicitations(peer).length, before + 1);
  },
  async 'elicitation twice'(peer, { elicit_twice: [call, expected, messages] }) {
    const before = elicitations(peer).length;
    await good(peer, call, expected);
    assert.deepEqual(elicitations(peer).slice(before).map(({ params }) => params.message), messages);
  },
  sampling: (peer, { sample }) => good(peer, ...sample),
  roots: (peer, { roots }) => good(peer, ...roots),

  async progress(peer, { count: [call, expected, steps] }) {
    const since = peer.received.length;
    await good(peer, call, expected, { onprogress: () => {} });
    // As the transport read it: the SDK forgets progress that it reads together with the answer.
    const values = progress_in(peer, since).map(({ params }) => params.progress);
    assert.deepEqual(values, Array.from({ length: steps }, (_, index) => index + 1));
    const kinds = peer.received.slice(since).map(({ method }) => method);
    assert.ok(kinds.lastIndexOf('notifications/progress') < kinds.lastIndexOf(undefined), 'progress after the answer');
  },
  /** A call that is answered in several rounds reports its progress as one. */
  async 'progress across rounds'(peer, { elicit_twice: [call, expected] }) {
    const since = peer.received.length;
    await good(peer, call, expected, { onprogress: () => {} });
    assert.deepEqual(progress_in(peer, since).map(({ params }) => params.progress), [1, 2, 3]);
  },
  async cancellation(peer, { cancel: [call, then, expected] }) {
    const abort = new AbortController();
    const { answer } = await under_way(peer, call, { signal: abort.signal });
    abort.abort('changed my mind');
    await answer.then(
      () => assert.fail('the cancelled call was answered'),
      () => {},
    );
    await good(peer, then, expected);
  },
  async 'log messages'(peer, { log: [call, expected] }) {
    const options = await peer.log_everything();
    const since = peer.told.length;
    await peer.call(call, options);
    const logged = (each) => each.method === 'notifications/message' && peer.told.indexOf(each) >= since;
    const { params } = await peer.until(peer.told, logged, 'log message');
    assert.ok(JSON.stringify(params.data).includes(expected), `it logged ${JSON.stringify(params)}`);
  },
  async 'resource updated'(peer, { update: [call, uri] }) {
    await peer.listen({ resourceSubscriptions: [uri] });
    await peer.call(call);
    const updated = ({ method, params }) => method === 'notifications/resources/updated' && params.uri === uri;
    await peer.until(peer.told, updated, `notification that ${uri} was updated`);
  },
  async 'list changed'(peer, { change: [call, kind, notification, [method, field, name]] }) {
    await peer.listen({ [kind]: true });
    const since = peer.told.length;
    await peer.call(call);
    const changed = (each) => each.method === notification && peer.told.indexOf(each) >= since;
    await peer.until(peer.told, changed, notification);
    const after = (await peer.ask(method))[field];
    assert.ok(after.some((item) => item.name === name), `${name} isn't in the list after ${notification}`);
  },
};

/** Only mcpivot survives these: (peer, words, world), where `world` ends and replaces the server. */
export const restart_questions = {
  /** The call in flight is answered by the next process, or with a report; the call after it by the next process. */
  async 'crash in the middle'(peer, { long: [call, expected], echo }, world) {
    const { answer } = await under_way(peer, call);
    world.kill_server();
    const said = await answer.then(all_text, ({ message }) => message);
    assert.ok(said.includes(expected) || said.includes('[mcpivot]'), `the call was answered with ${JSON.stringify(said)}`);
    await good(peer, ...echo);
  },
  /** The call in flight is answered by the old process, later ones by the new one. */
  async 'rebuild in the middle'(peer, { long: [call, expected], build, echo }, world) {
    await good(peer, build, world.build_name());
    const { answer } = await under_way(peer, call);
    const name = world.rebuild();
    says(await answer, expected);
    while (!all_text(await peer.call(build)).includes(name)) await sleep(100); // ended by the question's limit
    await good(peer, ...echo);
  },
};

/** The word that a question needs, if some server lacks it. */
export const needs = {
  'elicitation twice': 'elicit_twice',
  'progress across rounds': 'elicit_twice',
  cancellation: 'cancel',
};
