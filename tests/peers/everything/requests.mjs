// What the server asks its client: sampling, elicitation, roots.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { McpError } from '@modelcontextprotocol/sdk/types.js';
import { same } from '../lib/same.mjs';

const refuse = () => {
  throw new McpError(-1, 'the user said no', { why: ['not', { today: true }] });
};

/** Calls a tool once for each of the answers that the client gives to the server's question. */
const answering = (method, tool, args, answers) => async (peer) => {
  const results = [];
  for (const answer of answers) {
    peer.answers[method] = answer;
    results.push(await peer.call(tool, args));
  }
  assert.equal(peer.received.matching(method).length, answers.length);
  assert.ok(!results[0].isError, JSON.stringify(results[0]));
  return results;
};

const words = (text) => () => ({ role: 'assistant', model: 'm', content: { type: 'text', text } });

export function requests() {
  test('sampling', () =>
    same(
      answering(
        'sampling/createMessage',
        'trigger-sampling-request',
        { prompt: 'Say "hi" 🙂', maxTokens: 7 },
        [
          words('Hi!'),
          () => ({
            role: 'assistant',
            model: 'm',
            stopReason: 'maxTokens',
            content: { type: 'image', data: 'aGk=', mimeType: 'image/png' },
            _meta: { 'x/y': 1 },
          }),
          () => ({
            role: 'assistant',
            model: 'm',
            content: { type: 'audio', data: 'aGk=', mimeType: 'audio/wav' },
          }),
          refuse,
        ],
      ),
    ));

  test('sampling with default and with wrong arguments', () =>
    same(async (peer) => {
      const results = [
        await peer.call('trigger-sampling-request', { prompt: '' }),
        await peer.call('trigger-sampling-request', {}),
      ];
      assert.deepEqual(
        results.map(({ isError }) => !!isError),
        [false, true],
      );
      return results;
    }));

  test('sampling with a megabyte each way', () =>
    same(async (peer) => {
      const much = 'Viel "Text" 🙂\n'.repeat(60_000);
      peer.answers['sampling/createMessage'] = words(much);
      const result = await peer.call('trigger-sampling-request', { prompt: much });
      assert.ok(
        peer.received.matching('sampling/createMessage')[0].params.messages[0].content.text.endsWith(much),
      );
      assert.ok(result.content[0].text.length > much.length);
      return result;
    }));

  test('simultaneous samplings, answered in another order', () =>
    same(async (peer) => {
      const open = [];
      peer.answers['sampling/createMessage'] = ({ messages: [{ content }] }) =>
        new Promise((answer) => {
          open.push(() => answer(words(`answer to ${content.text}`)()));
          if (open.length === 10) open.reverse().forEach((next) => next());
        });
      const results = await Promise.all(
        Array.from({ length: 10 }, (_, i) =>
          peer.call('trigger-sampling-request', { prompt: `number ${i}.` }),
        ),
      );
      results.forEach((result, i) =>
        assert.match(result.content[0].text, new RegExp(`answer to .*number ${i}\\.`)),
      );
      return results;
    }));

  const filled_in = {
    name: 'Ada',
    check: true,
    firstLine: 'Once',
    email: 'ada@example.invalid',
    homepage: 'https://example.invalid/',
    birthdate: '1815-12-10',
    integer: 42,
    number: 2.5,
    untitledSingleSelectEnum: 'Ross',
    untitledMultipleSelectEnum: ['Piano', 'Bass'],
    titledSingleSelectEnum: 'hero-2',
    titledMultipleSelectEnum: ['fish-1', 'fish-3'],
    legacyTitledEnum: 'pet-4',
  };
  test('elicitation of a form', () =>
    same(
      answering('elicitation/create', 'trigger-elicitation-request', {}, [
        () => ({ action: 'accept', content: filled_in }),
        () => ({ action: 'accept', content: { name: '' } }),
        () => ({ action: 'accept' }),
        () => ({ action: 'decline' }),
        () => ({ action: 'cancel' }),
        refuse,
      ]),
    ));

  const link = 'https://example.invalid/log%20in?a=1&b=ü';
  test('elicitation by URL', () =>
    same(
      answering(
        'elicitation/create',
        'trigger-url-elicitation',
        { url: link, message: 'Please log in.', elicitationId: 'id-1' },
        [() => ({ action: 'accept' }), () => ({ action: 'decline' }), () => ({ action: 'cancel' }), refuse],
      ),
    ));

  test('elicitation by URL with the server’s own id', () =>
    same(async (peer) => {
      peer.answers['elicitation/create'] = () => ({ action: 'accept' });
      const result = await peer.call('trigger-url-elicitation', { url: link });
      const { elicitationId } = peer.received.matching('elicitation/create')[0].params;
      assert.ok(result.content[0].text.includes(elicitationId));
      return [result, await peer.call('trigger-url-elicitation', { url: 'not a url' })];
    }));

  test('elicitation by URL that an error requires, then a retry', () =>
    same(async (peer) => {
      peer.answers['elicitation/create'] = () => ({ action: 'accept' });
      const args = { url: link, errorPath: true };
      const demand = await peer.call('trigger-url-elicitation', args);
      assert.equal(demand.failed.code, -32042);
      assert.equal(demand.failed.data.elicitations.length, 1);
      const again = await peer.call('trigger-url-elicitation', args);
      assert.ok(!again.isError);
      return { demand, again };
    }));

  test('roots, and a change of roots', () =>
    same(async (peer) => {
      const results = [await peer.call('get-roots-list', {})];
      assert.match(results[0].content[0].text, /2 total/);
      const lists = [
        [{ uri: 'file:///three', name: 'Drei "3" 🙂', _meta: { a: 1 } }],
        [],
        Array.from({ length: 100 }, (_, i) => ({ uri: `file:///${i}` })),
      ];
      for (const [i, roots] of lists.entries()) {
        peer.answers['roots/list'] = () => ({ roots });
        await peer.client.sendRootsListChanged();
        await peer.received.until(({ params }) => /^Roots updated/.test(params?.data), i + 2);
        results.push(await peer.call('get-roots-list', {}));
      }
      assert.match(results[3].content[0].text, /100 total/);
      assert.equal(peer.received.matching('roots/list').length, 4);
      return results;
    }));

  test('a client that fails to list its roots', () =>
    same(async (peer) => {
      peer.answers['roots/list'] = refuse;
      await peer.client.sendRootsListChanged();
      await peer.sent.until((message) => message.error);
      const result = await peer.call('get-roots-list', {}); // the server still knows the old ones
      assert.match(result.content[0].text, /2 total/);
      return result;
    }));
}
