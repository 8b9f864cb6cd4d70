// Plays one scenario twice, on a direct connection to a server and on one through mcpivot, and compares all
// that the client saw: what the scenario returns, and every answer, notification and request that came in, in
// order.
import assert from 'node:assert/strict';
import { comparable_answer, comparable_message } from './allowed.mjs';
import { everything, through } from './commands.mjs';
import { every_capability, Peer, prepared } from './peer.mjs';

// --- what always differs -----------------------------------------------------------------------------------

const names = [
  // [the kind, how it looks]: task ids and elicitation ids are random.
  ['task', /\b[0-9a-f]{32}\b/g],
  ['uuid', /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g],
];
const times = [
  // A task's createdAt and lastUpdatedAt; the clock in the text of a dynamic resource.
  /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g,
  /(?<=created at )\d{1,2}:\d\d:\d\d(\s[AP]M)?/g,
];

/** Returns a function that replaces times, and random names by the order in which they appeared. */
export function normaliser() {
  const known = new Map();
  const ordinal = (kind, name) => {
    const key = `${kind} ${name}`;
    if (!known.has(key))
      known.set(key, `<${kind} ${[...known.keys()].filter((other) => other.startsWith(kind)).length + 1}>`);
    return known.get(key);
  };
  const text = (value) => {
    for (const pattern of times) value = value.replace(pattern, '<time>');
    for (const [kind, pattern] of names) value = value.replace(pattern, (name) => ordinal(kind, name));
    return value;
  };
  const blob = (value) => {
    // A dynamic blob is the base64 of a text with the time in it.
    const plain = Buffer.from(value, 'base64').toString();
    return plain.startsWith('Resource ') ? { base64_of: text(plain) } : value;
  };
  const any = (value) => {
    if (typeof value === 'string') return text(value);
    if (Array.isArray(value)) return value.map(any);
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        text(key),
        key === 'blob' && typeof item === 'string' ? blob(item) : any(item),
      ]),
    );
  };
  // The ids and progress tokens of the server's own requests are anybody's choice; those of our requests must
  // come back as they are.
  const of_server = (kind, holder, key) =>
    holder?.[key] !== undefined && { [key]: ordinal(kind, JSON.stringify(holder[key])) };
  const message = (item) => {
    if (!('method' in item)) return any(item);
    const { id, params, ...rest } = item;
    const seen = { ...rest, ...of_server('server request', item, 'id') };
    if (params) seen.params = params;
    if ('id' in item && params?._meta)
      seen.params = {
        ...params,
        _meta: { ...params._meta, ...of_server('server token', params._meta, 'progressToken') },
      };
    if (item.method === 'notifications/cancelled')
      seen.params = { ...params, ...of_server('server request', params, 'requestId') };
    return any(seen);
  };
  return { any, message };
}

function transcript(peer, ignore, begin) {
  const asked = new Map(
    peer.sent.items.filter((item) => item.method && 'id' in item).map((item) => [item.id, item.method]),
  );
  return peer.received.items
    .slice(begin)
    .map((item) =>
      'method' in item ? comparable_message(item) : comparable_answer(asked.get(item.id), item),
    )
    .filter((item) => item && !ignore(item));
}

// --- the two ways ------------------------------------------------------------------------------------------

/** Everything the server had to send so far has arrived once it has answered a call. */
const fence = (peer) => peer.client.callTool({ name: 'echo', arguments: { message: 'fence' } });

/** Waits until the server knows its client, so that nothing of that falls into the scenario. */
async function settled(peer, server, { capabilities = every_capability }) {
  if (server === everything && capabilities.roots) {
    // Arrives 0.35 s after the handshake.
    await peer.received.until(({ params }) => /^Roots updated/.test(params?.data));
  } else {
    await fence(peer);
  }
  return peer.received.items.length;
}

async function play(
  way,
  command,
  server,
  scenario,
  { ignore = () => false, unordered = false, settle = true, ...options },
) {
  let peer;
  try {
    peer = await Peer.connect(command, options);
    const begin = settle ? await settled(peer, server, options) : 0;
    const outcome = await scenario(peer);
    await fence(peer); // anything superfluous, such as a second answer, arrives before
    const { any, message } = normaliser();
    const messages = transcript(peer, ignore, begin).map(message);
    if (unordered) messages.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
    return { outcome: any(outcome), messages };
  } catch (error) {
    error.message = `${way}: ${error.message}`;
    throw error;
  } finally {
    await peer?.close();
  }
}

/**
 * Passes if `scenario(peer)` sees the same directly and through mcpivot. Options: `server` (a command),
 * `capabilities` and `env` of the connection, `tap` to see the server's side, `ignore(message)` for what is
 * not compared, `unordered` where the server itself promises no order, `settle: false` to compare from the
 * very first message on.
 */
export async function same(scenario, { server = everything, ...options } = {}) {
  const command = prepared(server, options);
  const [direct, proxied] = await Promise.allSettled([
    play('directly', command, server, scenario, options),
    play('through mcpivot', through(command), server, scenario, options),
  ]);
  for (const way of [direct, proxied]) if (way.status === 'rejected') throw way.reason;
  assert.deepStrictEqual(proxied.value, direct.value);
}
