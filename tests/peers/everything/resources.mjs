// Resources and notifications about them, and the server's log.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attempt } from '../lib/peer.mjs';
import { same } from '../lib/same.mjs';

const read = ({ client }, uri) => attempt(() => client.readResource({ uri }));

export function resources() {
  test('the list of resources, and every document in it', () =>
    same(async (peer) => {
      const list = await peer.client.listResources();
      assert.ok(list.resources.length >= 7);
      const documents = [];
      for (const { uri } of list.resources) documents.push(await read(peer, uri));
      assert.ok(documents.every(({ contents }) => contents[0].text.length > 100));
      return { list, documents };
    }));

  test('the list of resource templates', () =>
    same(async ({ client }) => {
      const list = await client.listResourceTemplates();
      assert.equal(list.resourceTemplates.length, 2);
      return list;
    }));

  test('dynamic resources, as text and as a blob', () =>
    same(async (peer) => {
      const text = await read(peer, 'demo://resource/dynamic/text/12');
      assert.match(text.contents[0].text, /^Resource 12: /);
      const blob = await read(peer, 'demo://resource/dynamic/blob/13');
      assert.match(Buffer.from(blob.contents[0].blob, 'base64').toString(), /^Resource 13: /);
      return { text, blob };
    }));

  test('a resource that does not exist gets the same error', () =>
    same(async (peer) => {
      const failures = [];
      for (const uri of [
        'demo://resource/dynamic/text/0',
        'demo://resource/dynamic/text/abc',
        'demo://resource/static/document/none.md',
        'http://example.invalid/',
        'no uri',
        '',
      ]) {
        failures.push(await read(peer, uri));
      }
      assert.ok(failures.every(({ failed }) => failed.code < -32000));
      return failures;
    }));

  test('subscriptions, with updates switched on and off', () =>
    same(async (peer) => {
      const [one, two] = ['demo://resource/dynamic/text/1', 'demo://resource/static/document/features.md'];
      const toggle = () => peer.call('toggle-subscriber-updates', {});
      const updates = () =>
        peer.received.matching('notifications/resources/updated').map(({ params }) => params.uri);
      const results = [
        await peer.client.subscribeResource({ uri: one }),
        await peer.client.subscribeResource({ uri: two }),
      ];
      results.push(await toggle());
      await peer.received.until('notifications/resources/updated', 2);
      results.push(await toggle());
      assert.deepEqual(updates(), [one, two]);
      results.push(await peer.client.unsubscribeResource({ uri: one }), await toggle());
      await peer.received.until('notifications/resources/updated', 3);
      results.push(await toggle());
      assert.deepEqual(updates(), [one, two, two]);
      results.push(
        await peer.client.unsubscribeResource({ uri: two }),
        await attempt(() => peer.client.unsubscribeResource({ uri: 'never subscribed' })),
      );
      return results;
    }));

  test('updates of a subscribed resource keep arriving', () =>
    same(async (peer) => {
      await peer.client.subscribeResource({ uri: 'demo://resource/dynamic/blob/2' });
      await peer.call('toggle-subscriber-updates', {});
      await peer.received.until('notifications/resources/updated', 2); // the server sends one every 5 s
      await peer.call('toggle-subscriber-updates', {});
    }));

  test('the log level determines which messages arrive', () =>
    same(async (peer) => {
      const logged = () =>
        peer.received
          .matching('notifications/message')
          .map(({ params }) => params.level)
          .slice(1);
      const results = [];
      for (const level of [
        'debug',
        'info',
        'notice',
        'warning',
        'error',
        'critical',
        'alert',
        'emergency',
        'info',
      ]) {
        results.push(await peer.client.setLoggingLevel(level));
        // The server logs each subscription at the level "info".
        results.push(
          await peer.client.subscribeResource({ uri: `demo://resource/dynamic/text/${results.length}` }),
        );
      }
      assert.deepEqual(logged(), ['info', 'info', 'info']);
      return results;
    }));

  const random_message = ({ method, params }) =>
    method === 'notifications/message' && /^\w+[- ]level[- ]message$/i.test(params.data);
  test('simulated logging, switched on and off', () =>
    same(
      async (peer) => {
        const results = [
          await peer.client.setLoggingLevel('debug'),
          await peer.call('toggle-simulated-logging', {}),
        ];
        await peer.received.until(random_message, 2); // the server sends one every 5 s
        results.push(await peer.call('toggle-simulated-logging', {}));
        const messages = peer.received.matching(random_message);
        // Which of eight messages arrives is random; what each must look like is not.
        for (const { params } of messages)
          assert.match(params.data.toLowerCase(), new RegExp(`^${params.level}[- ]level[- ]message$`));
        const shapes = messages.map(({ params, ...rest }) => ({ ...rest, params: Object.keys(params) }));
        return { results, shapes };
      },
      { ignore: random_message },
    ));
}
