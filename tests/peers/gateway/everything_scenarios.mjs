// Every feature of server-everything, as something that can be asked of any Side.
import assert from 'node:assert/strict';
import {
  CallToolResultSchema,
  CreateTaskResultSchema,
  GetTaskResultSchema,
} from '@modelcontextprotocol/sdk/types.js';

const works = (result) => {
  assert.ok(!result.failed && !result.isError, JSON.stringify(result).slice(0, 300));
  return result;
};
const operation = 'trigger-long-running-operation';
const research = 'simulate-research-query';

/** Calls that ask the client nothing: the tool, arguments that work, arguments that don't. */
const plain_calls = [
  ['echo', { message: 'é 漢字 🙂 "quoted" \\ \u0007' }, {}],
  ['get-annotated-message', { messageType: 'success', includeImage: true }, { messageType: 'loud' }],
  ['get-resource-links', { count: 3 }, { count: 11 }],
  ['get-resource-reference', { resourceType: 'Blob', resourceId: 8 }, { resourceType: 'Picture' }],
  ['get-structured-content', { location: 'Chicago' }, { location: 'Paris' }],
  ['get-sum', { a: -0.1, b: 0.3 }, { a: '1' }],
  ['get-tiny-image', {}],
  ['get-roots-list', {}],
  [
    'gzip-file-as-resource',
    { name: 'a.gz', data: 'data:,zip%20me', outputType: 'resource' },
    { data: 'ftp://x' },
  ],
];

export const everything_tools = {
  'the list of tools': async (side) => {
    const tools = await side.tools();
    assert.equal(tools.length, 19);
    return tools;
  },

  'every tool that asks the client nothing': async (side) => {
    const results = [];
    for (const [tool, good, bad] of plain_calls) {
      results.push(works(await side.call(tool, good)));
      if (bad) {
        const refused = await side.call(tool, bad);
        assert.ok(refused.isError || refused.failed, `${tool} with ${JSON.stringify(bad)}`);
        results.push(refused);
      }
    }
    return results;
  },

  'the environment': async (side) => {
    const { PORT, ...rest } = JSON.parse(works(await side.call('get-env', {})).content[0].text);
    return rest;
  },

  'fifty calls at once': async (side) => {
    const numbers = Array.from({ length: 50 }, (_, i) => i);
    const results = await Promise.all(numbers.map((i) => side.call('echo', { message: `number ${i}` })));
    numbers.forEach((i) => assert.equal(results[i].content[0].text, `Echo: number ${i}`));
    return results;
  },

  'half a megabyte': async (side) => {
    const message = 'Ein "Satz" mit \\ und 🙂 und \n Zeilen\t. '.repeat(12_000);
    const result = await side.call('echo', { message });
    assert.ok(result.content[0].text === `Echo: ${message}`);
  },

  progress: async (side) => {
    const args = { duration: 0.2, steps: 4 };
    const result = works(await side.call(operation, args, { onprogress: () => {} }));
    const steps = side.progress_of(args);
    assert.equal(steps.length, 4);
    return { result, steps };
  },

  'a cancelled call': async (side) => {
    const giving_up = new AbortController();
    const options = { signal: giving_up.signal, onprogress: () => giving_up.abort('changed my mind') };
    const result = await side.call(operation, { duration: 1, steps: 20 }, options);
    assert.match(result.failed.message, /changed my mind/);
    return { result, next: works(await side.call('echo', { message: 'next' })) };
  },

  sampling: async (side) => {
    const result = works(
      await side.call('trigger-sampling-request', { prompt: 'Say "hi" 🙂', maxTokens: 7 }),
    );
    assert.match(result.content[0].text, /7 tokens about/);
    return result;
  },

  'elicitation of a form': async (side) => {
    const result = works(await side.call('trigger-elicitation-request', {}));
    assert.match(JSON.stringify(result), /Ada/);
    return result;
  },

  'elicitation by URL': async (side) => {
    const url = 'https://example.invalid/log%20in?a=1';
    const results = [];
    for (const message of ['Please log in.', 'Please decline.'])
      results.push(
        works(await side.call('trigger-url-elicitation', { url, message, elicitationId: 'id-1' })),
      );
    results.push(await side.call('trigger-url-elicitation', { url, errorPath: true }));
    assert.equal(results[2].failed.code, -32042);
    results.push(works(await side.call('trigger-url-elicitation', { url, errorPath: true })));
    return results;
  },

  'sampling and elicitation as tasks of the client': async (side) => {
    const results = await Promise.all([
      side.call('trigger-sampling-request-async', { prompt: 'Think.', maxTokens: 9 }),
      side.call('trigger-elicitation-request-async', {}),
    ]);
    results.forEach(works);
    assert.match(results[0].content[0].text, /9 tokens about/);
    return results;
  },

  'a task of the server, with a question': async (side) => {
    const params = {
      name: side.prefix + research,
      arguments: { topic: 'Python', ambiguous: true },
      task: { ttl: 60_000 },
    };
    const { task } = works(await side.request('tools/call', params, CreateTaskResultSchema));
    const of = { taskId: task.taskId };
    const state = works(await side.request('tasks/get', of, GetTaskResultSchema));
    assert.equal(state.taskId, task.taskId);
    const result = works(await side.request('tasks/result', of, CallToolResultSchema));
    assert.match(result.content[0].text, /^# Research Report: Python/);
    return { task, result, end: await side.request('tasks/get', of, GetTaskResultSchema) };
  },

  'a cancelled task of the server': async (side) => {
    const params = { name: side.prefix + research, arguments: { topic: 'Levers' }, task: { ttl: 60_000 } };
    const { task } = works(await side.request('tools/call', params, CreateTaskResultSchema));
    const of = { taskId: task.taskId };
    const cancelled = works(await side.request('tasks/cancel', of, GetTaskResultSchema));
    assert.equal(cancelled.status, 'cancelled');
    return { cancelled, result: await side.request('tasks/result', of, CallToolResultSchema) };
  },

  'every prompt': async (side) => {
    const list = await side.prompts();
    assert.deepEqual(
      list.map(({ name }) => name),
      ['simple-prompt', 'args-prompt', 'completable-prompt', 'resource-prompt'],
    );
    const prompts = [
      await side.prompt('simple-prompt'),
      await side.prompt('args-prompt', { city: 'Zürich' }),
      await side.prompt('completable-prompt', { department: 'Sales', name: 'Eve' }),
      await side.prompt('resource-prompt', { resourceType: 'Text', resourceId: '3' }),
    ];
    prompts.forEach(({ messages }) => assert.ok(messages.length > 0));
    const missing = await side.prompt('args-prompt', {});
    assert.equal(missing.failed.code, -32602);
    return { list, prompts, missing };
  },

  'completion of the arguments of prompts': async (side) => {
    const of = { type: 'ref/prompt', name: 'completable-prompt' };
    const first = await side.complete(of, 'department', 'S');
    assert.deepEqual(first.completion.values, ['Sales', 'Support']);
    return [
      first,
      await side.complete(of, 'name', '', { department: 'Marketing' }),
      await side.complete(of, 'no-such-argument', 'A'),
      await side.complete({ ...of, name: 'resource-prompt' }, 'resourceId', '12'),
    ];
  },
};

// Only for the server that is asked for URIs which others also have.
export const everything_resources = {
  'every resource and template': async (side) => {
    const list = await side.resources('demo://');
    assert.ok(list.length >= 7);
    const documents = [];
    for (const { uri } of list) documents.push(works(await side.read(uri)));
    return {
      list,
      documents,
      templates: await side.templates('demo://'),
      text: works(await side.read('demo://resource/dynamic/text/12')),
      blob: works(await side.read('demo://resource/dynamic/blob/13')),
      wrong: await side.read('demo://resource/dynamic/text/0'),
    };
  },

  'completion of the variables of templates': async (side) => {
    const of = { type: 'ref/resource', uri: 'demo://resource/dynamic/text/{resourceId}' };
    const first = await side.complete(of, 'resourceId', '42');
    assert.deepEqual(first.completion.values, ['42']);
    return [first, await side.complete(of, 'resourceId', 'x'), await side.complete(of, 'other', '1')];
  },

  'subscriptions and updates': async (side) => {
    const uris = ['demo://resource/dynamic/text/1', 'demo://resource/static/document/features.md'];
    const updated = 'notifications/resources/updated';
    const results = [];
    for (const uri of uris) results.push(works(await side.subscribe(uri)));
    results.push(await side.call('toggle-subscriber-updates', {}));
    await side.until(updated, 2);
    results.push(await side.call('toggle-subscriber-updates', {}));
    assert.deepEqual(
      side.seen(updated).map(({ params }) => params.uri),
      uris,
    );
    for (const uri of uris) results.push(works(await side.unsubscribe(uri)));
    return { results, updates: side.seen(updated) };
  },

  'a resource that is added later': async (side) => {
    const link = works(await side.call('gzip-file-as-resource', { name: 'later.gz', data: 'data:,later' }));
    const { uri } = link.content[0];
    await side.until('notifications/resources/list_changed');
    const list = await side.resources(uri);
    assert.equal(list.length, 1, `${uri} is listed`);
    return { link, list, read: works(await side.read(uri)) };
  },

  logging: async (side) => {
    const { client } = side.peer;
    const results = [];
    // The server logs each subscription and its end at the level "info"; these are of this server only.
    const uri = (number) => `demo://resource/dynamic/text/${900 + number}`;
    const about_ours = ({ method, params }) =>
      method === 'notifications/message' && /dynamic\/text\/9\d\d/.test(params.data);
    for (const [number, level] of ['debug', 'error', 'info'].entries()) {
      results.push(await client.setLoggingLevel(level));
      // A gateway doesn't wait for all servers; after this call, a daemon has also received it.
      await side.call('echo', { message: 'the level is set' });
      results.push(works(await side.subscribe(uri(number))), works(await side.unsubscribe(uri(number))));
    }
    // A daemon sends this on another stream than its answers.
    await side.until(about_ours, 4);
    return { results, said: side.seen(about_ours) };
  },

  'simulated logging': async (side) => {
    const random = ({ method, params }) =>
      method === 'notifications/message' && /^\w+[- ]level[- ]message/i.test(params.data);
    await side.peer.client.setLoggingLevel('debug');
    const results = [works(await side.call('toggle-simulated-logging', {}))];
    await side.until(random);
    results.push(works(await side.call('toggle-simulated-logging', {})));
    await side.peer.client.setLoggingLevel('info');
    // Which of eight messages arrives is random; what each must look like is not.
    return { results, shape: Object.keys(side.seen(random)[0].params).sort() };
  },
};
