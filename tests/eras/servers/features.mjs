// The features that every cell of the matrix is tested for, written once for both major versions of the SDK. A dialect
// (v1.mjs, v2.mjs) says how that SDK asks the client something, reports progress and logs.
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';

const text = (value) => ({ content: [{ type: 'text', text: value }] });
const form = (message, field) => ({
  method: 'elicitation/create',
  params: {
    mode: 'form',
    message,
    requestedSchema: { type: 'object', properties: { [field]: { type: 'string' } }, required: [field] },
  },
});
const note = 'test://note';

export function add_features(server, dialect, world) {
  const tool = (name, shape, handler, more = {}) =>
    server.registerTool(name, { description: `The tool ${name}.`, inputSchema: z.object(shape), ...more }, handler);

  tool('echo', { text: z.string() }, ({ text: said }) => text(said));
  tool('build', {}, () => text(world.build));
  tool('add', { a: z.number(), b: z.number() }, ({ a, b }) => ({ ...text(`${a + b}`), structuredContent: { sum: a + b } }), {
    outputSchema: z.object({ sum: z.number() }),
  });
  tool('fail', {}, () => ({ ...text('It failed on purpose.'), isError: true }));

  tool('ask', {}, (_, extra) =>
    dialect.interview(extra, [() => form('Who are you?', 'name')], ([who]) => text(`Hello ${who.content?.name}.`)),
  );
  tool('ask_twice', {}, (_, extra) => {
    const step = (number) => dialect.progress(extra, number, 3);
    return dialect.interview(
      extra,
      [
        () => step(1).then(() => form('Who are you?', 'name')),
        ([who]) => step(2).then(() => form(`Which color, ${who.content?.name}?`, 'color')),
      ],
      ([who, which]) => step(3).then(() => text(`${who.content?.name} likes ${which.content?.color}.`)),
    );
  });
  tool('sample', {}, (_, extra) =>
    dialect.interview(
      extra,
      [
        () => ({
          method: 'sampling/createMessage',
          params: { messages: [{ role: 'user', content: { type: 'text', text: 'Say something.' } }], maxTokens: 10 },
        }),
      ],
      ([message]) => text(`The model said: ${message.content.text}`),
    ),
  );
  tool('roots', {}, (_, extra) =>
    dialect.interview(extra, [() => ({ method: 'roots/list' })], ([{ roots }]) => text(roots.map(({ uri }) => uri).join(' '))),
  );

  tool('count', { steps: z.number(), pause: z.number() }, async ({ steps, pause }, extra) => {
    for (let step = 1; step <= steps; ++step) {
      await dialect.progress(extra, step, steps);
      await sleep(pause);
    }
    return text(`Counted to ${steps}.`);
  });
  tool('wait', {}, async (_, extra) => {
    const aborted = new Promise((resolve) => dialect.signal(extra).addEventListener('abort', resolve));
    await dialect.progress(extra, 1, 2); // so that the client knows how far the call is
    await aborted;
    world.was_cancelled();
    return text('Waited in vain.');
  });
  tool('was_cancelled', {}, async () => text(String(await world.cancelled(3000))));
  tool('log', {}, async (_, extra) => {
    await dialect.log(extra, 'warning', 'A line of the log.');
    return text('Logged.');
  });

  const added = () => tool('added', {}, () => text('I am new.'));
  if (world.added) added();
  tool('add_tool', {}, () => {
    world.add_tool();
    return text('There is one more now.');
  });
  tool('touch', {}, () => {
    world.touch(note);
    return text('The note changed.');
  });

  server.registerPrompt(
    'greet',
    {
      description: 'A greeting.',
      argsSchema: dialect.arguments({
        name: dialect.completable(z.string(), (start) => ['Ada', 'Alan', 'Grace'].filter((name) => name.startsWith(start))),
      }),
    },
    ({ name }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Greet ${name}.` } }] }),
  );
  server.registerResource('note', note, { mimeType: 'text/plain' }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'A note.' }],
  }));
  server.registerResource(
    'item',
    new dialect.ResourceTemplate('test://item/{id}', { list: undefined }),
    { mimeType: 'text/plain' },
    (uri, { id }) => ({ contents: [{ uri: uri.href, mimeType: 'text/plain', text: `Item ${id}.` }] }),
  );

  return { show_added: added };
}

/** What a server must announce in addition to what its features make the SDK announce. */
export const capabilities = { logging: {}, resources: { subscribe: true, listChanged: true } };
