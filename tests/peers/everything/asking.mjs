// What server-everything never does but a server may, with a server of our own (lib/asking-server.mjs).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallToolResultSchema, CreateTaskResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { asking } from '../lib/commands.mjs';
import { same } from '../lib/same.mjs';

const options = { server: asking };
const answer_of = ({ content: [{ text }] }) => JSON.parse(text);

export function server_requests() {
  test('a ping from the server is answered', () =>
    same(async (peer) => {
      const answer = answer_of(await peer.call('ask', { method: 'ping' }));
      assert.deepEqual(answer, { result: {} });
      return answer;
    }, options));

  test('the server’s request for an unknown method gets the client’s error', () =>
    same(async (peer) => {
      const answer = answer_of(await peer.call('ask', { method: 'no/such-method', params: { a: [1] } }));
      assert.equal(answer.error.code, -32601);
      return answer;
    }, options));

  test('an error from the client reaches the server with its code and data', () =>
    same(async (peer) => {
      peer.answers['roots/list'] = () => {
        throw Object.assign(new Error('not "now"'), { code: -31999, data: { deep: [null, 1.5, 'ü'] } });
      };
      const answer = answer_of(await peer.call('ask', { method: 'roots/list' }));
      assert.equal(answer.error.code, -31999);
      return answer;
    }, options));

  test('a hundred questions at once are answered in any order', () =>
    same(async (peer) => {
      const open = [];
      peer.answers['sampling/createMessage'] = ({ messages: [{ content }] }) =>
        new Promise((answer) => {
          open.push(() =>
            answer({ role: 'assistant', model: 'm', content: { type: 'text', text: `re: ${content.text}` } }),
          );
          if (open.length === 100) open.reverse().forEach((next) => next());
        });
      const answers = answer_of(await peer.call('ask_at_once', { count: 100 }));
      answers.forEach(({ result }, i) => assert.equal(result.content.text, `re: question ${i}`));
      return answers;
    }, options));

  test('the client’s progress on a question reaches the server', () =>
    same(async (peer) => {
      peer.answers['sampling/createMessage'] = async ({ _meta: { progressToken } }, { sendNotification }) => {
        for (const progress of [0.5, 1]) {
          await sendNotification({
            method: 'notifications/progress',
            params: { progressToken, progress, total: 1, message: `at ${progress}` },
          });
        }
        return { role: 'assistant', model: 'm', content: { type: 'text', text: 'done' } };
      };
      const { progress, answer } = answer_of(await peer.call('ask_with_progress', {}));
      assert.deepEqual(
        progress,
        [0.5, 1].map((step) => ({ progress: step, total: 1, message: `at ${step}`, ours: true })),
      );
      return { progress, answer };
    }, options));

  test('a question that the server withdraws is cancelled at the client', () =>
    same(async (peer) => {
      let reason;
      peer.answers['sampling/createMessage'] = ({ _meta: { progressToken } }, { signal, sendNotification }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            reason = signal.reason;
            reject(new Error('withdrawn'));
          });
          sendNotification({ method: 'notifications/progress', params: { progressToken, progress: 1 } });
        });
      const answer = answer_of(await peer.call('ask_and_give_up', {}));
      assert.match(answer.error.message, /never mind/);
      const [asked] = peer.received.matching('sampling/createMessage');
      const [cancelled] = peer.received.matching('notifications/cancelled');
      assert.equal(cancelled.params.requestId, asked.id);
      assert.equal(reason, 'never mind');
      return { answer, reason };
    }, options));

  test('progress of a task still comes after the task was created', () =>
    same(async (peer) => {
      const steps = [];
      const created = await peer.client.request(
        { method: 'tools/call', params: { name: 'start_task', arguments: {}, task: {} } },
        CreateTaskResultSchema,
        { onprogress: (step) => steps.push(step) },
      );
      assert.equal(steps.length, 0);
      await peer.call('finish_task', {});
      assert.equal(steps.length, 2);
      return {
        created,
        steps,
        result: await peer.client.experimental.tasks.getTaskResult(created.task.taskId, CallToolResultSchema),
      };
    }, options));

  test('the server’s own notifications arrive unchanged', () =>
    same(
      async (peer) => {
        const notifications = [
          { method: 'notifications/prompts/list_changed' },
          { method: 'notifications/elicitation/complete', params: { elicitationId: 'e-1' } },
          {
            method: 'notifications/message',
            params: { level: 'alert', logger: 'ü', data: { deep: [1, 2.5e-9, null, { 'a b': '\u0000' }] } },
          },
          { method: 'notifications/of-no-known-kind', params: { _meta: { 'x/y': true }, more: 'fields' } },
          {
            method: 'notifications/cancelled',
            params: { requestId: 'nobody asked that', reason: 'just so' },
          },
          {
            method: 'notifications/progress',
            params: { progressToken: 'nobody asked that either', progress: 1 },
          },
        ];
        for (const notification of notifications) await peer.call('tell', notification);
        for (const { method, params } of notifications.slice(0, 4)) {
          const seen = await peer.received.until(method);
          assert.deepEqual(seen.params, params);
        }
      },
      {
        ...options,
        // A cancellation or progress of nothing means nothing; it doesn't matter whether it arrives.
        ignore: ({ method }) => ['notifications/cancelled', 'notifications/progress'].includes(method),
      },
    ));
}
