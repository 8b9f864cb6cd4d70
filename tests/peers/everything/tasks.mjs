// Tasks, on both sides: the server's (a research query) and the client's (sampling and elicitation in the
// background).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallToolResultSchema, CreateTaskResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { attempt } from '../lib/peer.mjs';
import { same } from '../lib/same.mjs';

const research = 'simulate-research-query';

/** Starts a research query as a task. */
const start = ({ client }, args) =>
  client.request(
    { method: 'tools/call', params: { name: research, arguments: args, task: { ttl: 60_000 } } },
    CreateTaskResultSchema,
  );

const status_is =
  (status) =>
  ({ method, params }) =>
    method === 'notifications/tasks/status' && params.status === status;

/**
 * Lets the client work on the server's question as a task: it says once that it is still at it, then
 * `finish(store, id)` ends the task.
 */
const in_the_background = (peer, method, finish) => {
  peer.answers[method] = async ({ task: { ttl } }, { taskStore }) => {
    const task = await taskStore.createTask({ ttl, pollInterval: 1000 });
    const polled = peer.sent.matching((message) => message.result?.status).length;
    peer.sent
      .until((message) => message.result?.status, polled + 1)
      .then(() => finish(taskStore, task.taskId));
    return { task };
  };
};

export function tasks() {
  test('a research task: its states, and its result', () =>
    same(async (peer) => {
      const created = await start(peer, { topic: 'Pivots' });
      await peer.received.until(status_is('completed'));
      const { taskId } = created.task;
      const { tasks } = peer.client.experimental;
      const state = await tasks.getTask(taskId);
      const result = await tasks.getTaskResult(taskId, CallToolResultSchema);
      assert.match(result.content[0].text, /^# Research Report: Pivots/);
      return { created, state, result, cancelled: await attempt(() => tasks.cancelTask(taskId)) };
    }));

  for (const [how, answer] of Object.entries({
    'is answered': { action: 'accept', content: { interpretation: 'snake' } },
    'is declined': { action: 'decline' },
    'is cancelled': { action: 'cancel' },
  })) {
    test(`a research task with a question that ${how}`, () =>
      same(async (peer) => {
        peer.answers['elicitation/create'] = () => answer;
        const created = await start(peer, { topic: 'Python', ambiguous: true });
        await peer.received.until(status_is('input_required'), 2);
        // The server asks while the client waits for the result.
        const result = await peer.client.experimental.tasks.getTaskResult(
          created.task.taskId,
          CallToolResultSchema,
        );
        assert.equal(peer.received.matching('elicitation/create').length, 1);
        return { created, result };
      }));
  }

  test('a research task as the SDK follows it', () =>
    same(
      async (peer) => {
        peer.answers['elicitation/create'] = () => ({
          action: 'accept',
          content: { interpretation: 'historical' },
        });
        await peer.client.listTools();
        const events = [];
        for await (const event of peer.client.experimental.tasks.callToolStream({
          name: research,
          arguments: { topic: 'Levers', ambiguous: true },
        })) {
          // How often it asks for the state, and which one it happens to see, is a matter of timing.
          if (event.type !== 'taskStatus') events.push(event);
        }
        assert.deepEqual(
          events.map(({ type }) => type),
          ['taskCreated', 'result'],
        );
        return events;
      },
      { ignore: ({ method }) => method === undefined }, // so the answers, and even their number, differ
    ));

  test('tasks are cancelled and listed, page by page', () =>
    same(
      async (peer) => {
        const { tasks } = peer.client.experimental;
        const cancelled = [];
        for (let i = 0; i < 12; i++) {
          const { task } = await start(peer, { topic: `number ${i}` });
          cancelled.push(await tasks.cancelTask(task.taskId));
        }
        const first = await tasks.listTasks();
        assert.equal(first.tasks.length, 10);
        const second = await tasks.listTasks(first.nextCursor);
        assert.equal(second.tasks.length, 2);
        const one = first.tasks[0].taskId;
        return {
          cancelled,
          first,
          second,
          one: await tasks.getTask(one),
          result: await attempt(() => tasks.getTaskResult(one, CallToolResultSchema)),
          beyond: await attempt(() => tasks.listTasks('no such page')),
        };
      },
      { ignore: status_is('working') },
    ));

  test('a research query that is not called as a task is rejected', () =>
    same(async (peer) => {
      const result = await peer.call(research, { topic: 'x' });
      assert.match(result.content[0].text, /requires task augmentation/);
      return [result, await attempt(() => start(peer, {}))];
    }));

  test('sampling as a task of the client', () =>
    same(async (peer) => {
      in_the_background(peer, 'sampling/createMessage', (store, id) =>
        store.storeTaskResult(id, 'completed', {
          role: 'assistant',
          model: 'm',
          content: { type: 'text', text: 'Thought it over.' },
        }),
      );
      const result = await peer.call('trigger-sampling-request-async', { prompt: 'Think.', maxTokens: 9 });
      assert.match(
        result.content[0].text,
        /COMPLETED[^]*Poll 1: working[^]*Poll 2: completed[^]*Thought it over/,
      );
      return result;
    }));

  test('sampling as a task of the client that fails', () =>
    same(async (peer) => {
      in_the_background(peer, 'sampling/createMessage', (store, id) =>
        store.updateTaskStatus(id, 'failed', 'no idea'),
      );
      const result = await peer.call('trigger-sampling-request-async', { prompt: 'Think.' });
      assert.match(result.content[0].text, /FAILED\] no idea/);
      return result;
    }));

  for (const [how, answer] of Object.entries({
    accepts: { action: 'accept', content: { name: 'Ada', favoriteColor: 'Blue', agreeToTerms: false } },
    declines: { action: 'decline' },
    cancels: { action: 'cancel' },
  })) {
    test(`elicitation as a task of a client whose user ${how}`, () =>
      same(async (peer) => {
        in_the_background(peer, 'elicitation/create', (store, id) =>
          store.storeTaskResult(id, 'completed', answer),
        );
        const result = await peer.call('trigger-elicitation-request-async', {});
        assert.match(result.content.at(-1).text, /Poll 2: completed/);
        return result;
      }));
  }
}
