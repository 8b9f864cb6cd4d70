// Prompts, and the completion of arguments.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attempt } from '../lib/peer.mjs';
import { same } from '../lib/same.mjs';

const get = ({ client }, name, args) => attempt(() => client.getPrompt({ name, arguments: args }));

const complete = ({ client }, ref, name, value, chosen) =>
  attempt(() =>
    client.complete({ ref, argument: { name, value }, ...(chosen && { context: { arguments: chosen } }) }),
  );

export function prompts() {
  test('the list of prompts', () =>
    same(async ({ client }) => {
      const list = await client.listPrompts();
      assert.deepEqual(
        list.prompts.map(({ name }) => name),
        ['simple-prompt', 'args-prompt', 'completable-prompt', 'resource-prompt'],
      );
      return list;
    }));

  test('a prompt without arguments', () =>
    same(async (peer) => {
      const prompt = await get(peer, 'simple-prompt');
      assert.equal(prompt.messages.length, 1);
      return [prompt, await get(peer, 'simple-prompt', { not: 'needed' })];
    }));

  test('a prompt with arguments', () =>
    same(async (peer) => {
      const prompt = await get(peer, 'args-prompt', { city: 'Zürich' });
      assert.match(prompt.messages[0].content.text, /Zürich/);
      const missing = await get(peer, 'args-prompt', {});
      assert.equal(missing.failed.code, -32602);
      return [
        prompt,
        missing,
        await get(peer, 'args-prompt', { city: 'Paris', state: 'Texas' }),
        await get(peer, 'args-prompt'),
      ];
    }));

  test('a prompt with arguments that can be completed', () =>
    same(async (peer) => {
      const prompt = await get(peer, 'completable-prompt', { department: 'Sales', name: 'Eve' });
      assert.match(prompt.messages[0].content.text, /promote Eve/);
      return [prompt, await get(peer, 'completable-prompt', { department: 'Sales' })];
    }));

  test('a prompt with an embedded resource', () =>
    same(async (peer) => {
      const prompt = await get(peer, 'resource-prompt', { resourceType: 'Text', resourceId: '3' });
      assert.equal(prompt.messages[1].content.type, 'resource');
      const others = [];
      for (const [resourceType, resourceId] of [
        ['Blob', '4'],
        ['Text', '0'],
        ['Text', 'x'],
        ['Film', '1'],
      ]) {
        others.push(await get(peer, 'resource-prompt', { resourceType, resourceId }));
      }
      return [prompt, others];
    }));

  test('a prompt that does not exist gets the same error', () =>
    same(async (peer) => {
      const { failed } = await get(peer, 'no-such-prompt', {});
      assert.equal(failed.code, -32602);
      return failed;
    }));

  test('completion of the arguments of prompts', () =>
    same(async (peer) => {
      const of = (name) => ({ type: 'ref/prompt', name });
      const completions = [await complete(peer, of('completable-prompt'), 'department', 'S')];
      assert.deepEqual(completions[0].completion.values, ['Sales', 'Support']);
      for (const department of ['Engineering', 'Sales', 'Marketing', 'Support', 'Cooking']) {
        completions.push(await complete(peer, of('completable-prompt'), 'name', '', { department }));
      }
      completions.push(
        await complete(peer, of('completable-prompt'), 'name', 'A'),
        await complete(peer, of('completable-prompt'), 'no-such-argument', 'A'),
        await complete(peer, of('resource-prompt'), 'resourceType', ''),
        await complete(peer, of('resource-prompt'), 'resourceId', '12'),
        await complete(peer, of('resource-prompt'), 'resourceId', '-1'),
        await complete(peer, of('simple-prompt'), 'anything', 'x'),
        await complete(peer, of('no-such-prompt'), 'department', 'S'),
      );
      assert.equal(completions.at(-1).failed.code, -32602);
      return completions;
    }));

  test('completion of the variables of resource templates', () =>
    same(async (peer) => {
      const of = (uri) => ({ type: 'ref/resource', uri });
      const completions = [
        await complete(peer, of('demo://resource/dynamic/text/{resourceId}'), 'resourceId', '42'),
        await complete(peer, of('demo://resource/dynamic/blob/{resourceId}'), 'resourceId', 'x'),
        await complete(peer, of('demo://resource/dynamic/text/{resourceId}'), 'other', '42'),
        await complete(peer, of('demo://resource/static/document/features.md'), 'resourceId', '1'),
        await complete(peer, of('demo://no/such/{template}'), 'template', '1'),
      ];
      assert.deepEqual(completions[0].completion.values, ['42']);
      return completions;
    }));
}
