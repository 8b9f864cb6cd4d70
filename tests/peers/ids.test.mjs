// Ids and progress tokens keep the type and spelling in which they were given, and everything else in a
// message passes as it was written. Raw lines over pipes, no SDK on the client's side.
//   MCPIVOT=path/to/mcpivot node --test ids.test.mjs
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { comparable_answer, must_be_bytes } from './lib/allowed.mjs';
import { everything } from './lib/commands.mjs';
import { respelled, spelled } from './lib/json-text.mjs';
import { with_raw_peer } from './lib/raw.mjs';

const ids = [
  '0',
  '1',
  '-5',
  '2147483648',
  '-2147483649',
  '9007199254740991',
  '9007199254740993',
  '-9223372036854775808',
  '18446744073709551615',
  '"1"',
  '"0"',
  '"-5"',
  '""',
  '" "',
  '"listen:0"',
  '"null"',
  '"9007199254740993"',
  '"é漢🙂"',
  String.raw`"\u0061bc"`,
  String.raw`"\"id\":2,\\\/\n"`,
  `"${'long '.repeat(500)}"`,
];

const echo = (id, text) =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"echo","arguments":{"message":"${text}"}}}`;

/** A call that takes `seconds` and, with a token, reports progress in `steps` steps. */
const slow = (id, { seconds = 0.2, steps = 2, token } = {}) => {
  const meta = token === undefined ? '' : `,"_meta":{"progressToken":${token}}`;
  const params = `{"name":"trigger-long-running-operation","arguments":{"duration":${seconds},"steps":${steps}}${meta}}`;
  return `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`;
};

const echoed = (line) => JSON.parse(line).result.content[0].text;
const behind_mcpivot = (scenario, options) => () => with_raw_peer(everything, scenario, options);

/** Of the lines that the server read, those with this method. */
const seen_by_server = ({ tap }, method) =>
  tap.received().filter((line) => JSON.parse(line).method === method);

/** The progress reported so far for a token in this spelling. */
const progress = ({ received }, token) =>
  received
    .matching(
      ({ line, method }) =>
        method === 'notifications/progress' && spelled(line, 'params', 'progressToken') === token,
    )
    .map(({ line }) => `${spelled(line, 'params', 'progress')}/${spelled(line, 'params', 'total')}`);

/**
 * The line that the server read differs from the one we sent in nothing but the id, the token and space
 * around it.
 */
function passed_as_written(seen, sent) {
  let expected = sent.trim();
  for (const path of [['id'], ['params', '_meta', 'progressToken']])
    expected = respelled(expected, spelled(seen, ...path), ...path);
  assert.equal(seen.trim(), expected);
}

function permutations(items) {
  return items.length < 2
    ? [items]
    : items.flatMap((item) =>
        permutations(items.filter((other) => other !== item)).map((rest) => [item, ...rest]),
      );
}

describe('ids and tokens', { concurrency: 6 }, () => {
  test('every spelling of an id is restored', (t) =>
    with_raw_peer(everything, async (peer) => {
      for (const id of ids) {
        await t.test(`the id ${id.slice(0, 30)}`, async () => {
          assert.equal(echoed(await peer.ask(echo(id, 'hello'))), 'Echo: hello');
          peer.send(`{"jsonrpc":"2.0","id":${id},"method":"no/such-method"}`);
          await peer.received.until(
            ({ line, method }) => method === undefined && spelled(line, 'id') === id,
            2,
          );
          assert.equal(JSON.parse(peer.answers(id)[1]).error.code, -32601);
        });
      }
    }));

  test(
    'ids in different spellings are kept apart while all are in flight',
    behind_mcpivot(async (peer) => {
      for (const [i, id] of ids.entries()) peer.send(slow(id, { seconds: 0.5, steps: i + 1 }));
      for (const [i, id] of ids.entries()) {
        const answer = JSON.parse(await peer.answer(id)).result.content[0].text;
        assert.equal(
          answer,
          `Long running operation completed. Duration: 0.5 seconds, Steps: ${i + 1}.`,
          `the answer to ${id}`,
        );
      }
      for (const id of ids) assert.equal(peer.answers(id).length, 1, `answers to ${id}`);
    }),
  );

  test('the id of the handshake is restored', async (t) => {
    for (const id of ['0', '"listen:0"', '9007199254740993']) {
      await t.test(`the id ${id}`, () =>
        with_raw_peer(everything, async (peer) => assert.match(peer.answers(id)[0], /"serverInfo"/), { id }),
      );
    }
  });

  test(
    'an id may be reused once it was answered',
    behind_mcpivot(async (peer) => {
      for (const count of [1, 2, 3]) {
        peer.send(echo('"again"', `time ${count}`));
        await peer.received.until(({ method, id }) => method === undefined && id === '"again"', count);
      }
      assert.deepEqual(peer.answers('"again"').map(echoed), ['Echo: time 1', 'Echo: time 2', 'Echo: time 3']);
    }),
  );

  test(
    'keys may be in any order with any white space between them',
    behind_mcpivot(async (peer) => {
      const members = (id) => [
        '"jsonrpc":"2.0"',
        `"id":${id}`,
        '"method":"tools/call"',
        `"params":{"name":"echo","arguments":{"message":"${id}"}}`,
      ];
      const lines = permutations([0, 1, 2, 3]).flatMap((order, i) => [
        `{${order.map((at) => members(2 * i)[at]).join(',')}}`,
        `  { ${order.map((at) => members(2 * i + 1)[at].replace(':', ' :\t')).join(' ,\t')} }  `,
      ]);
      for (const line of lines) assert.equal(echoed(await peer.ask(line)), `Echo: ${spelled(line, 'id')}`);
      const seen = seen_by_server(peer, 'tools/call');
      assert.equal(seen.length, lines.length);
      seen.forEach((line, i) => passed_as_written(line, lines[i]));
    }),
  );

  test(
    'unknown fields reach the server unchanged',
    behind_mcpivot(async (peer) => {
      const lines = [
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"future":{"id":7,"method":"x"},"name":"echo","arguments":{"message":"a","id":"no id","n":[1.0,-0,1E+2,1e-7,12345678901234567890,0.1000]},"_meta":{"vendor/trace":{"progressToken":"not one"},"traceparent":"00-00"}}}',
        String.raw`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"\u0065cho","arguments":{"message":"\u00e9\/\ud83d\ude42\u0000 é🙂 \"id\":3,\"method\":\"ping\""},"x":[[[[]]],{},"",null,true,false]}}`,
        '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"message":"twice","message":"twice"},"_meta":{}}}',
      ];
      for (const line of lines) assert.match(echoed(await peer.ask(line)), /^Echo: /);
      const seen = seen_by_server(peer, 'tools/call');
      seen.forEach((line, i) => passed_as_written(line, lines[i]));
      assert.equal(seen.length, lines.length);
    }),
  );

  test(
    'unknown fields next to the id also reach the server',
    behind_mcpivot(async (peer) => {
      // The server's SDK ignores such a message, so there is no answer; the call after it shows that it was
      // read.
      const line =
        '{"extra":{"id":5},"jsonrpc":"2.0","id":1,"ext":[{"method":"x"}],"method":"tools/call","params":{"name":"echo"},"later":"id"}';
      peer.send(line);
      await peer.ask(echo('2', 'fence'));
      const [seen] = seen_by_server(peer, 'tools/call');
      passed_as_written(seen, line);
    }),
  );

  test(
    'a notification reaches the server byte for byte',
    behind_mcpivot(async (peer) => {
      const line = String.raw`{ "params":{"b":1.00,"a":"\u00e9é\/","_meta":{"progressToken":1}},"method":"notifications/unheard-of" , "jsonrpc":"2.0"}`;
      peer.send(line);
      await peer.ask(echo('1', 'fence'));
      assert.deepEqual(seen_by_server(peer, 'notifications/unheard-of'), [line]);
    }),
  );

  test('every spelling of a progress token is restored', (t) =>
    with_raw_peer(everything, async (peer) => {
      const calls = [
        ['7', '7'],
        ['"7"', '"7"'],
        ['"listen:0"', '"listen:0"'],
        ['8', '"8"'],
        ['"9"', '9'],
        ['10', '0'],
        ['11', '-5'],
        ['12', '""'],
        ['13', '"a token"'],
        ['14', String.raw`"\u0031\"\\"`],
        ['15', '"é🙂"'],
        ['16', '9007199254740993'],
        ['9007199254740993', '9007199254740993'],
      ];
      for (const [id, token] of calls) {
        await t.test(`the token ${token} of the id ${id}`, async () => {
          const before = progress(peer, token).length;
          assert.match(await peer.ask(slow(id, { seconds: 0.04, token })), /"result"/);
          assert.deepEqual(progress(peer, token).slice(before), ['1/2', '2/2']);
        });
      }
    }));

  test(
    'tokens that differ only in type are kept apart while both are in flight',
    behind_mcpivot(async (peer) => {
      peer.send(slow('1', { token: '1', steps: 2 }));
      peer.send(slow('"1"', { token: '"1"', steps: 3 }));
      peer.send(slow('2', { token: '"2"', steps: 4 }));
      peer.send(slow('"2"', { token: '2', steps: 5 }));
      for (const id of ['1', '"1"', '2', '"2"']) await peer.answer(id);
      for (const [token, total] of [
        ['1', 2],
        ['"1"', 3],
        ['"2"', 4],
        ['2', 5],
      ]) {
        assert.deepEqual(
          progress(peer, token),
          Array.from({ length: total }, (_, i) => `${i + 1}/${total}`),
          `progress of ${token}`,
        );
      }
    }),
  );

  test(
    'a cancellation uses the id by which the server knows the request',
    behind_mcpivot(async (peer) => {
      const cancelled = ids.filter((id) => id !== '0'); // the server's SDK ignores a cancellation of an id 0
      for (const id of cancelled) peer.send(slow(id, { seconds: 1.5, steps: 1 }));
      for (const id of cancelled)
        peer.send(
          `{"method":"notifications/cancelled","params":{"reason":"r\\u00e9","requestId":${id}},"jsonrpc":"2.0"}`,
        );
      // Ends after the others would have, by the server's own clock.
      await peer.ask(slow('"fence"', { seconds: 1.8, steps: 1 }));
      for (const id of cancelled) assert.deepEqual(peer.answers(id), [], `answers to ${id}`);
      const known = seen_by_server(peer, 'tools/call').map((line) => spelled(line, 'id'));
      const named = seen_by_server(peer, 'notifications/cancelled').map((line) =>
        spelled(line, 'params', 'requestId'),
      );
      assert.deepEqual(named, known.slice(0, -1));
      assert.equal(
        peer.tap.sent().filter((line) => known.slice(0, -1).includes(spelled(line, 'id'))).length,
        0,
        'answers that the server gave',
      );
      assert.ok(seen_by_server(peer, 'notifications/cancelled')[0].includes('"r\\u00e9"'));
    }),
  );

  test(
    'a cancellation of an unknown request is harmless',
    behind_mcpivot(async (peer) => {
      for (const id of ['5', '"never used"', '"handshake"', '9007199254740993', 'null', '[]']) {
        peer.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id}}}`);
      }
      peer.send('{"jsonrpc":"2.0","method":"notifications/cancelled"}');
      assert.equal(echoed(await peer.ask(echo('5', 'still here'))), 'Echo: still here');
    }),
  );

  test(
    'a cancellation of "1" does not cancel 1, and vice versa',
    behind_mcpivot(async (peer) => {
      for (const id of ['1', '"1"', '2', '"2"']) peer.send(slow(id, { seconds: 1, steps: 1 }));
      for (const id of ['"1"', '2'])
        peer.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id}}}`);
      await peer.ask(slow('"fence"', { seconds: 1.3, steps: 1 }));
      assert.deepEqual(
        ['1', '"1"', '2', '"2"'].map((id) => peer.answers(id).length),
        [1, 0, 0, 1],
      );
    }),
  );

  test(
    'an answer to the server finds its question, whatever the order of its keys',
    behind_mcpivot(
      async (peer) => {
        const roots = (count) =>
          JSON.stringify(Array.from({ length: count }, (_, i) => ({ uri: `file:///${i}` })));
        const orders = permutations(['jsonrpc', 'id', 'result']);
        for (const [i, order] of orders.entries()) {
          if (i > 0) peer.send('{"method":"notifications/roots/list_changed","jsonrpc":"2.0"}');
          const { id } = await peer.received.until('roots/list', i + 1);
          const members = {
            jsonrpc: '"jsonrpc":"2.0"',
            id: `"id":${id}`,
            result: `"result":{"id":"x","roots":${roots(i + 1)}}`,
          };
          peer.send(`{${order.map((key) => members[key]).join(',')}}`);
          const { line } = await peer.received.until('notifications/message', i + 1);
          assert.match(line, new RegExp(`"Roots updated: ${i + 1} root`));
        }
        const asked = peer.tap
          .sent()
          .filter((line) => JSON.parse(line).method === 'roots/list')
          .map((line) => spelled(line, 'id'));
        const answered = peer.tap
          .received()
          .filter((line) => spelled(line, 'result') !== undefined)
          .map((line) => spelled(line, 'id'));
        assert.deepEqual(answered, asked);
        assert.equal(
          new Set(peer.received.matching('roots/list').map(({ id }) => id)).size,
          orders.length,
          'different ids for different questions',
        );
      },
      { capabilities: '{"roots":{"listChanged":true}}' },
    ),
  );

  const comparable = (method, line) =>
    must_be_bytes(method) ? line : comparable_answer(method, JSON.parse(line));

  test("responses are the server's, byte for byte", async () => {
    const questions = [
      ...[
        'tools/list',
        'prompts/list',
        'resources/list',
        'resources/templates/list',
        'ping',
        'no/such-method',
      ].map((method) => [method, '{}']),
      ...['get-tiny-image', 'get-resource-links', 'no-such-tool'].map((name) => [
        'tools/call',
        `{"name":"${name}","arguments":{}}`,
      ]),
      ['tools/call', '{"name":"get-structured-content","arguments":{"location":"Chicago"}}'],
      ['tools/call', String.raw`{"name":"echo","arguments":{"message":"\u0000\u001f\u2028 é🙂 \ud83d \/"}}`],
      ['prompts/get', '{"name":"args-prompt","arguments":{}}'],
      ['resources/read', '{"uri":"demo://resource/static/document/features.md"}'],
      [
        'completion/complete',
        '{"ref":{"type":"ref/prompt","name":"completable-prompt"},"argument":{"name":"department","value":"S"}}',
      ],
    ];
    const scenario = async (peer) => {
      const answers = [];
      for (const [i, [method, params]] of questions.entries()) {
        answers.push(
          comparable(
            method,
            await peer.ask(`{"jsonrpc":"2.0","id":${i},"method":"${method}","params":${params}}`),
          ),
        );
      }
      await peer.received.until('notifications/tools/list_changed');
      return answers;
    };
    const [direct, proxied] = await Promise.all(
      [true, false].map((way) => with_raw_peer(everything, scenario, { direct: way })),
    );
    assert.deepEqual(proxied, direct);
  });

  test('the handshake in every protocol version is the server’s', async (t) => {
    for (const version of [
      '2024-10-07',
      '2024-11-05',
      '2025-03-26',
      '2025-06-18',
      '2025-11-25',
      '1999-01-01',
    ]) {
      await t.test(version, async () => {
        const scenario = (peer) => peer.answers('"handshake"').map((line) => comparable('initialize', line));
        const [direct, proxied] = await Promise.all(
          [true, false].map((way) => with_raw_peer(everything, scenario, { direct: way, version })),
        );
        assert.equal(direct.length, 1);
        assert.deepEqual(proxied, direct);
      });
    }
  });
});
