// Every tool that asks the client nothing, with arguments that it accepts and that it rejects.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { comparable_tools } from '../lib/allowed.mjs';
import { same } from '../lib/same.mjs';

const text_of = (result) => result.content[0].text;

/** Calls one tool with each of the arguments in turn; the first call must work. */
const calls =
  (name, ...arguments_list) =>
  async (peer) => {
    const results = [];
    for (const args of arguments_list) results.push(await peer.call(name, args));
    assert.ok(
      results[0].content.length > 0 && !results[0].isError,
      `${name} works: ${JSON.stringify(results[0]).slice(0, 200)}`,
    );
    return results;
  };

const fails = (result, reason) => {
  assert.ok(result.isError, `an error: ${JSON.stringify(result).slice(0, 200)}`);
  assert.match(text_of(result), reason);
};

export function tools() {
  test('the list of tools is the same, with every field of every tool', () =>
    same(async ({ client }) => {
      const list = await client.listTools();
      // A tool that a new version of the server adds should be tested here too.
      assert.deepEqual(
        list.tools.map(({ name }) => name).filter((name) => !name.startsWith('pivot_')),
        [
          'echo',
          'get-annotated-message',
          'get-env',
          'get-resource-links',
          'get-resource-reference',
          'get-structured-content',
          'get-sum',
          'get-tiny-image',
          'gzip-file-as-resource',
          'toggle-simulated-logging',
          'toggle-subscriber-updates',
          'trigger-long-running-operation',
          'get-roots-list',
          'trigger-elicitation-request',
          'trigger-url-elicitation',
          'trigger-sampling-request',
          'simulate-research-query',
          'trigger-sampling-request-async',
          'trigger-elicitation-request-async',
        ],
      );
      return comparable_tools(list);
    }));

  test('a tool that does not exist gets the same error', () =>
    same(async (peer) => {
      const result = await peer.call('no-such-tool', { a: 1 });
      fails(result, /Tool no-such-tool not found/);
      return [result, await peer.call('', {}), await peer.call('Ünïcode "tool"', {})];
    }));

  test('echo', () =>
    same(
      calls(
        'echo',
        { message: 'hello' },
        { message: '' },
        { message: 'a', more: true },
        {},
        undefined,
        { message: 5 },
        { message: null },
      ),
    ));

  test('echo of text in many scripts, with control characters and escapes', () =>
    same(async (peer) => {
      const message =
        'é ß 漢字 🙂 👩‍👩‍👧 \u202eright to left\u202c \u2028\u2029 \ufeff \ufffd "quoted" \\back\\slash/ \u007f ' +
        Array.from({ length: 32 }, (_, code) => String.fromCharCode(code)).join('');
      const result = await peer.call('echo', { message });
      assert.equal(text_of(result), `Echo: ${message}`);
      return result;
    }));

  test('echo of half an emoji, as a careless cut leaves it', () =>
    same(async (peer) => {
      const message = `${'🙂'.slice(0, 1)} and ${'🙂'.slice(1)}`;
      const result = await peer.call('echo', { message });
      assert.equal(text_of(result), `Echo: ${message}`);
      return result;
    }));

  test('echo of a megabyte', () =>
    same(async (peer) => {
      const message = 'Ein "Satz" mit \\ und 🙂 und \n Zeilen\t. '.repeat(26_000);
      assert.ok(Buffer.byteLength(message) > 1_000_000);
      const result = await peer.call('echo', { message });
      assert.ok(text_of(result) === `Echo: ${message}`);
      return result;
    }));

  test('echo of every length around the size of a buffer', () =>
    same(async (peer) => {
      const lengths = [4096, 8192, 16_384, 65_536, 131_072].flatMap((size) =>
        Array.from({ length: 9 }, (_, i) => size - 100 + 25 * i),
      );
      const results = await Promise.all(
        lengths.map((length) => peer.call('echo', { message: 'x'.repeat(length) })),
      );
      assert.deepEqual(
        results.map((result) => text_of(result).length - 'Echo: '.length),
        lengths,
      );
    }));

  test('two hundred calls at once each get their own answer', () =>
    same(async (peer) => {
      const results = await Promise.all(
        Array.from({ length: 200 }, (_, i) => peer.call('echo', { message: `number ${i}` })),
      );
      results.forEach((result, i) => assert.equal(text_of(result), `Echo: number ${i}`));
    }));

  test('sum', () =>
    same(
      calls(
        'get-sum',
        { a: 2, b: 3 },
        { a: -0.1, b: 0.3 },
        { a: 1e308, b: 1e308 },
        { a: 9007199254740991, b: 2 },
        { a: 5e-324, b: -0 },
        { a: '1', b: 2 },
        { a: 1 },
      ),
    ));

  test('annotated messages', () =>
    same(
      calls(
        'get-annotated-message',
        { messageType: 'error' },
        { messageType: 'success', includeImage: true },
        { messageType: 'debug', includeImage: false },
        { messageType: 'other' },
        { messageType: 'error', includeImage: 'yes' },
      ),
    ));

  const of_environment = ({ result }) => /"A_TEST"/.test(result?.content?.[0].text);
  test('the server has the same environment', () =>
    same(
      async (peer) => {
        const {
          content: [{ text }],
          ...rest
        } = await peer.call('get-env', {});
        const env = JSON.parse(text);
        assert.equal(env.A_TEST, 'with spaces, = and é\nand a line');
        return { env, rest };
      },
      // An environment has no order, but the text that shows it has one; so the text is left to the scenario.
      { env: { A_TEST: 'with spaces, = and é\nand a line', EMPTY: '' }, ignore: of_environment },
    ));

  test('an image', () =>
    same(async (peer) => {
      const result = await peer.call('get-tiny-image', {});
      assert.deepEqual(
        result.content.map(({ type }) => type),
        ['text', 'image', 'text'],
      );
      return result;
    }));

  test('structured content', () =>
    same(async (peer) => {
      await peer.client.listTools(); // with the output's schema known, the SDK also checks each result
      const results = [];
      for (const location of ['New York', 'Chicago', 'Los Angeles', 'Paris'])
        results.push(await peer.call('get-structured-content', { location }));
      assert.equal(results[0].structuredContent.temperature, 33);
      fails(results[3], /Input validation error/);
      return results;
    }));

  test('links to resources', () =>
    same(
      calls(
        'get-resource-links',
        {},
        { count: 1 },
        { count: 10 },
        { count: 2.5 },
        { count: 0 },
        { count: 11 },
      ),
    ));

  test('an embedded resource', () =>
    same(
      calls(
        'get-resource-reference',
        {},
        { resourceType: 'Text', resourceId: 7 },
        { resourceType: 'Blob', resourceId: 8 },
        { resourceType: 'Text', resourceId: 0 },
        { resourceType: 'Blob', resourceId: 1.5 },
        { resourceType: 'Picture' },
      ),
    ));

  test('a compressed file, as a resource and as a link that can be read later', () =>
    same(async (peer) => {
      const data = `data:text/plain;charset=utf-8,${encodeURIComponent('zip me, é 🙂 '.repeat(100))}`;
      const embedded = await peer.call('gzip-file-as-resource', {
        name: 'a.txt.gz',
        data,
        outputType: 'resource',
      });
      const plain = gunzipSync(Buffer.from(embedded.content[0].resource.blob, 'base64')).toString();
      assert.ok(plain.startsWith('zip me, é 🙂 '));
      const link = await peer.call('gzip-file-as-resource', { name: 'b.txt.gz', data });
      const again = await peer.call('gzip-file-as-resource', { name: 'b.txt.gz', data: 'data:,other' });
      await peer.received.until('notifications/resources/list_changed'); // the server says so four times
      const read = await peer.client.readResource({ uri: link.content[0].uri });
      return { embedded, link, again, read, list: await peer.client.listResources() };
    }));

  test('a compressed file that the server fetches by HTTP', async () => {
    const web = createServer((request, response) =>
      response.end(request.url === '/big' ? 'b'.repeat(3000) : 'a web page'),
    ).listen(0, '127.0.0.1');
    await once(web, 'listening');
    try {
      await same(
        async (peer) => {
          const fetched = (path) =>
            peer.call('gzip-file-as-resource', {
              name: 'page.gz',
              data: `http://127.0.0.1:${web.address().port}${path}`,
              outputType: 'resource',
            });
          const page = await fetched('/');
          assert.equal(
            gunzipSync(Buffer.from(page.content[0].resource.blob, 'base64')).toString(),
            'a web page',
          );
          const big = await fetched('/big');
          fails(big, /exceeds/);
          const elsewhere = await peer.call('gzip-file-as-resource', { data: 'http://localhost:1/' });
          fails(elsewhere, /not in the allowed domains/);
          return { page, big, elsewhere };
        },
        { env: { GZIP_MAX_FETCH_SIZE: '2000', GZIP_ALLOWED_DOMAINS: '127.0.0.1' } },
      );
    } finally {
      web.close();
      web.closeAllConnections();
    }
  });

  test('a compressed file that cannot be fetched', () =>
    same(async (peer) => {
      const results = [];
      for (const data of ['http://127.0.0.1:1/', 'ftp://example.invalid/x', 'not a url', 'data:broken']) {
        results.push(await peer.call('gzip-file-as-resource', { name: 'x', data }));
      }
      results.forEach((result) => assert.ok(result.isError));
      results.push(await peer.call('gzip-file-as-resource', { data: 'data:,x', outputType: 'paper' }));
      return results;
    }));
}
