// The handshake, what a client's capabilities change, and the messages that every connection knows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EmptyResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { comparable_handshake, comparable_tools } from '../lib/allowed.mjs';
import { attempt } from '../lib/peer.mjs';
import { same } from '../lib/same.mjs';

const clients = {
  'nothing at all': {},
  'only sampling': { sampling: {} },
  'only elicitation, as older clients say it': { elicitation: {} },
  'only elicitation of forms': { elicitation: { form: {} } },
  'only elicitation by URL': { elicitation: { url: {} } },
  'only roots that never change': { roots: {} },
  'only sampling, also as a task': { sampling: {}, tasks: { requests: { sampling: { createMessage: {} } } } },
  'only elicitation, also as a task': {
    elicitation: {},
    tasks: { requests: { elicitation: { create: {} } } },
  },
};

export function handshake() {
  test('the handshake gives the same server info, capabilities and instructions', () =>
    same(
      async ({ client }) => {
        assert.equal(client.getServerVersion().name, 'mcp-servers/everything');
        assert.match(client.getInstructions(), /Everything Server/);
        return comparable_handshake({
          serverInfo: client.getServerVersion(),
          capabilities: client.getServerCapabilities(),
          instructions: client.getInstructions(),
        });
      },
      { settle: false, ignore: ({ method }) => method !== undefined },
    ));

  test('after the handshake the server announces its tools and asks for the roots', () =>
    same(
      async (peer) => {
        await peer.received.until('roots/list');
        const { params } = await peer.received.until('notifications/message');
        assert.equal(params.data, 'Roots updated: 2 root(s) received from client');
        await peer.received.until('notifications/tools/list_changed'); // the server says so seven times
      },
      { settle: false },
    ));

  for (const [who, capabilities] of Object.entries(clients)) {
    test(`a client that offers ${who} is shown the same tools`, () =>
      same(async ({ client }) => comparable_tools(await client.listTools()), { capabilities }));
  }

  test('a client without roots is not asked for them', () =>
    same(
      async (peer) => {
        // The server would ask 0.35 s after the handshake; this call ends later, by the server's own clock.
        await peer.call('trigger-long-running-operation', { duration: 0.6, steps: 1 });
        assert.equal(peer.received.matching('roots/list').length, 0);
      },
      { capabilities: {} },
    ));

  test('a ping is answered', () =>
    same(async ({ client }) => {
      const answers = [await client.ping(), await client.ping()];
      assert.deepEqual(answers, [{}, {}]);
      return answers;
    }));

  test('an unknown method gets the same error', () =>
    same(async ({ client }) => {
      const ask = (method, params) => attempt(() => client.request({ method, params }, EmptyResultSchema));
      const failures = [
        await ask('no/such-method'),
        await ask('tools/nothing', { name: 'echo' }),
        await ask('', {}),
      ];
      assert.deepEqual(
        failures.map(({ failed }) => failed.code),
        [-32601, -32601, -32601],
      );
      return failures;
    }));

  test('a request with wrong parameters gets the same error', () =>
    same(async ({ client }) => {
      const ask = (method, params) => attempt(() => client.request({ method, params }, EmptyResultSchema));
      const failures = [
        await ask('tools/call', {}),
        await ask('tools/call', { name: 5 }),
        await ask('resources/read', {}),
        await ask('prompts/get', undefined),
        await ask('completion/complete', { ref: { type: 'ref/nothing' } }),
        await ask('logging/setLevel', { level: 'shouting' }),
        await ask('tasks/get', { taskId: 'no such task' }),
      ];
      assert.ok(failures.every(({ failed }) => failed.code < -32000));
      return failures;
    }));

  test('an unknown notification is ignored and reaches the server unchanged', () =>
    same(
      async (peer) => {
        const notification = {
          method: 'notifications/of-no-known-kind',
          params: { deep: [{ er: null }], _meta: { 'a/b': 1e-7 } },
        };
        await peer.client.notification(notification);
        await peer.call('echo', { message: 'the server has read it by now' });
        const seen = peer.tap
          .received()
          .map((line) => JSON.parse(line))
          .filter(({ method }) => method === notification.method);
        assert.deepEqual(seen, [{ ...notification, jsonrpc: '2.0' }]);
      },
      { tap: true },
    ));

  test('unknown fields of a request reach the server', () =>
    same(
      async (peer) => {
        const params = {
          name: 'echo',
          arguments: { message: 'x', more: [1, { of: 'it' }] },
          future: { field: true },
          _meta: { 'vendor/trace': '00-ab-01' },
        };
        const result = await peer.client.request(
          { method: 'tools/call', params },
          EmptyResultSchema.passthrough(),
        );
        const [seen] = peer.tap
          .received()
          .map((line) => JSON.parse(line))
          .filter(({ method }) => method === 'tools/call');
        assert.deepEqual(seen.params, params);
        return result;
      },
      { tap: true },
    ));
}
