// Calls that take a while: progress, and cancelling them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { same } from '../lib/same.mjs';

const operation = 'trigger-long-running-operation';

/**
 * A call with progress; `onprogress` may look at each step. The steps are read off the wire, not off the
 * SDK's callback: the SDK forgets whom to tell if the last step arrives together with the answer.
 */
async function long_call(peer, args, { onprogress = () => {}, ...options } = {}) {
  const call = peer.call(operation, args, { ...options, onprogress });
  const { id } = peer.sent.items.at(-1);
  const result = await call;
  const steps = peer.received.matching(
    ({ method, params }) => method === 'notifications/progress' && params.progressToken === id,
  );
  return { result, steps: steps.map(({ params: { progress, total } }) => ({ progress, total })) };
}

/** What the server read of the calls and cancellations, and which of those calls it answered. */
function servers_view({ tap }) {
  const received = tap.received().map((line) => JSON.parse(line));
  const calls = received.filter(({ method }) => method === 'tools/call');
  const place = (id) => calls.findIndex((call) => call.id === id);
  return {
    cancelled: received
      .filter(({ method }) => method === 'notifications/cancelled')
      .map(({ params: { requestId, ...rest } }) => ({ call: place(requestId), ...rest })),
    answered: tap
      .sent()
      .map((line) => JSON.parse(line))
      .filter((message) => !('method' in message))
      .map(({ id }) => place(id))
      .filter((call) => call >= 0),
  };
}

// server-everything keeps reporting progress on a call that was cancelled. It doesn't matter whether those late
// reports arrive.
const late_progress = ({ method, params }) => method === 'notifications/progress' && params.progress > 1;

export function progress() {
  test('a long call reports the same progress, before its answer', () =>
    same(async (peer) => {
      const call = await long_call(peer, { duration: 0.4, steps: 4 });
      assert.deepEqual(
        call.steps,
        [1, 2, 3, 4].map((progress) => ({ progress, total: 4 })),
      );
      const kinds = peer.received.items.slice(-5).map(({ method }) => method ?? 'answer');
      assert.deepEqual(kinds, [...Array(4).fill('notifications/progress'), 'answer']);
      return call;
    }));

  test('a long call without a progress token reports no progress', () =>
    same(async (peer) => {
      const result = await peer.call(operation, { duration: 0.1, steps: 3 });
      assert.equal(peer.received.matching('notifications/progress').length, 0);
      return [
        result,
        await peer.call(operation, { duration: 0, steps: 0 }),
        await peer.call(operation, { duration: 'long' }),
      ];
    }));

  test('long calls at once each get their own progress', () =>
    same(
      async (peer) => {
        const calls = await Promise.all(
          [1, 2, 3, 4, 5].map((steps) => long_call(peer, { duration: 0.3, steps })),
        );
        calls.forEach(({ steps }, i) =>
          assert.deepEqual(
            steps,
            Array.from({ length: i + 1 }, (_, step) => ({ progress: step + 1, total: i + 1 })),
          ),
        );
        return calls;
      },
      { unordered: true },
    ));

  test('a cancelled call is also cancelled at the server and never answered', () =>
    same(
      async (peer) => {
        const giving_up = new AbortController();
        const { result } = await long_call(
          peer,
          { duration: 2, steps: 4 },
          { signal: giving_up.signal, onprogress: () => giving_up.abort('changed my mind') },
        );
        assert.match(result.failed.message, /changed my mind/);
        // Ends, by the server's own clock, after the cancelled call would have.
        const next = await peer.call(operation, { duration: 2.2, steps: 1 });
        const view = servers_view(peer);
        assert.deepEqual(view, { cancelled: [{ call: 0, reason: 'changed my mind' }], answered: [1] });
        const cancelled_id = peer.sent.matching('tools/call')[0].id;
        assert.equal(
          peer.received.matching((message) => message.id === cancelled_id && !message.method).length,
          0,
        );
        return { result, next, view };
      },
      { tap: true, ignore: late_progress },
    ));

  test('a call that times out at the client is also cancelled at the server', () =>
    same(
      async (peer) => {
        const result = await peer.call(operation, { duration: 2, steps: 1 }, { timeout: 100 });
        assert.equal(result.failed.code, -32001);
        const next = await peer.call(operation, { duration: 2.2, steps: 1 });
        const view = servers_view(peer);
        assert.deepEqual(
          view.cancelled.map(({ call }) => call),
          [0],
        );
        assert.deepEqual(view.answered, [1]);
        return { result, next, view };
      },
      { tap: true },
    ));

  test('only the cancelled one of several calls ends', () =>
    same(
      async (peer) => {
        const giving_up = new AbortController();
        const calls = [
          long_call(peer, { duration: 2.4, steps: 3 }),
          long_call(
            peer,
            { duration: 2, steps: 4 },
            { signal: giving_up.signal, onprogress: () => giving_up.abort('this one') },
          ),
          long_call(peer, { duration: 2.8, steps: 1 }),
        ];
        const outcomes = await Promise.all(calls);
        assert.deepEqual(
          outcomes.map(({ result }) => 'failed' in result),
          [false, true, false],
        );
        const view = servers_view(peer);
        assert.deepEqual(view.cancelled, [{ call: 1, reason: 'this one' }]);
        return { results: outcomes.map(({ result }) => result), view };
      },
      { tap: true, unordered: true, ignore: late_progress },
    ));

  test('a server whose call was cancelled stops asking the client', () =>
    same(async (peer) => {
      peer.answers['sampling/createMessage'] = async (params, extra) => ({
        task: await extra.taskStore.createTask({ ttl: params.task.ttl, pollInterval: 1000 }),
      });
      const giving_up = new AbortController();
      const call = peer.call(
        'trigger-sampling-request-async',
        { prompt: 'think' },
        { signal: giving_up.signal },
      );
      await peer.sent.until((message) => message.result?.status === 'working');
      giving_up.abort('no more');
      const result = await call;
      // The server asks for the state of the task once a second; this call ends after it would have asked
      // again.
      await peer.call(operation, { duration: 1.5, steps: 1 });
      assert.equal(peer.received.matching('tasks/get').length, 1);
      return result;
    }));
}
