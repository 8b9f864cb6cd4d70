// Clients of both eras reach `mcpivot serve` through nginx, with TLS, as docs/serve.md says: its block is the
// configuration that is run here.
//   MCPIVOT=path/to/mcpivot NGINX=path/to/nginx node --test nginx.test.mjs
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import tls from 'node:tls';
import { fileURLToPath } from 'node:url';
import { blocks_of } from '../peers/lib/blocks.mjs';
import { free_port } from '../peers/lib/ports.mjs';
import { Peer } from './lib/clients.mjs';
import { eventually, limit, Serving, token } from './lib/serving.mjs';

const nginx = process.env.NGINX ?? '/usr/sbin/nginx';
const docs = fileURLToPath(new URL('../../docs/serve.md', import.meta.url));
const documented = blocks_of(docs).blocks.find(({ language }) => language === 'nginx').text;

/** The text with these replacements. */
function instead(text, changes) {
  for (const [documented_word, word] of changes) {
    assert.ok(text.includes(documented_word), `docs/serve.md has no ${documented_word}`);
    text = text.replaceAll(documented_word, word);
  }
  return text;
}

/** nginx and mcpivot behind it. */
class Place {
  mcpivot = new Serving();
  #nginx;

  static async make({ server, listen, proxies }) {
    const place = new Place();
    place.port = await free_port();
    const address =
      listen === 'unix' ? `unix:${join(place.mcpivot.folder, 'sock')}` : `127.0.0.1:${await free_port()}`;
    await place.mcpivot.begin(server, address, [
      ...proxies.flatMap((proxy) => ['--trusted-proxy', proxy]),
      ...['--public-url', `https://localhost:${place.port}/mcp`],
    ]);
    await place.#start_nginx(address);
    return place;
  }

  url() {
    return new URL(`https://localhost:${this.port}/mcp`);
  }

  async #start_nginx(address) {
    const file = (name) => join(this.mcpivot.folder, name);
    execFileSync(
      'openssl',
      ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'].concat(
        ...['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'],
        ...['-keyout', file('nginx.key'), '-out', file('nginx.pem')],
      ),
      { stdio: 'ignore' },
    );
    tls.setDefaultCACertificates([...tls.getCACertificates('default'), readFileSync(file('nginx.pem'), 'utf8')]);
    mkdirSync(file('temporary'));
    const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
    const server = instead(documented, [
      ['listen 443 ssl', `listen 127.0.0.1:${this.port} ssl`],
      ['server_name mcp.example.com', 'server_name localhost'],
      ['/etc/nginx/mcp.example.com.', file('nginx.')],
      ['http://127.0.0.1:7420', `http://${address}`],
    ]);
    writeFileSync(
      file('nginx.conf'),
      `daemon off; master_process off; pid ${file('pid')}; error_log ${file('error.log')};\nevents {}\n` +
        `http {\naccess_log off;\n${kinds.map((kind) => `${kind}_temp_path ${file('temporary')};\n`).join('')}${server}}\n`,
    );
    const child = spawn(nginx, ['-p', this.mcpivot.folder, '-c', file('nginx.conf')], { stdio: ['ignore', 'ignore', 'pipe'] });
    await once(child, 'spawn');
    this.#nginx = child;
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text) => (said += text));
    await eventually('nginx listens', () => {
      assert.equal(child.exitCode, null, said);
      return fetch(this.url()).then(() => true, () => false);
    });
  }

  async leave() {
    const gone = once(this.#nginx, 'exit');
    this.#nginx.kill('SIGKILL');
    await gone;
    await this.mcpivot.end();
  }
}

async function in_a_place(how, action) {
  const place = await Place.make(how);
  try {
    await action(place);
  } finally {
    await place.leave();
  }
}

const headers = { Authorization: `Bearer ${token}` };
const text_of = ({ content }) => content.map(({ text }) => text).join('\n');

/** A call, and how many milliseconds before its answer each progress came. */
async function with_progress(peer, call) {
  const times = [];
  const answer = await peer.call(call, { onprogress: () => times.push(performance.now()) });
  const end = performance.now();
  return { answer, before: times.map((time) => end - time) };
}

const ways = {
  'on a Unix socket': { listen: 'unix', proxies: ['unix'] },
  'on loopback': { listen: 'loopback', proxies: ['127.0.0.0/8'] },
};

for (const [way, how] of Object.entries(ways)) {
  describe(`nginx in front of mcpivot ${way}`, () => {
    for (const [client, server] of Object.entries({ v1: 'v1', 'v2-pinned': 'v2-modern' })) {
      test(`the client ${client} with the server ${server}`, () =>
        in_a_place({ ...how, server }, async (place) => {
          const peer = await Peer.connect(client, place.url(), { limit, headers });
          const session = peer.session;
          assert.equal(Boolean(session), client === 'v1');
          assert.equal(text_of(await peer.call(['echo', { text: 'Hello.' }])), 'Hello.');

          // Progress arrives when it is made, although the documented nginx buffers what it may buffer.
          const { answer, before } = await with_progress(peer, ['count', { steps: 20, pause: 150 }]);
          assert.equal(text_of(answer), 'Counted to 20.');
          assert.equal(before.length, 20);
          assert.ok(before[0] > 1500, `the first progress came ${before[0]} ms before the answer`);
          assert.ok(before[0] - before[18] > 1500, `progress came in a heap: ${before}`);

          // Nothing is in flight, so this arrives on the stream that the client opened to listen.
          await peer.listen({ toolsListChanged: true });
          place.mcpivot.build('build-2+');
          const changed = ({ method }) => method === 'notifications/tools/list_changed';
          await peer.until(peer.told, changed, 'list_changed');
          await eventually('the new tool', async () =>
            (await peer.ask('listTools')).tools.some(({ name }) => name === 'added'),
          );

          // The session continues after mcpivot was killed and started again.
          await place.mcpivot.kill();
          await place.mcpivot.start();
          const after = text_of(await peer.call(['build']));
          assert.match(after, /build-2\+$/);
          assert.equal(peer.session, session);
          if (session) {
            assert.match(after, /this session was resumed after a restart of mcpivot/);
            const since = peer.told.length;
            place.mcpivot.build('build-3');
            await peer.until(peer.told, (each) => changed(each) && peer.told.indexOf(each) >= since, 'second list_changed');
          }
          await peer.client.close();
        }));
    }

    test("the log has the address of nginx's client", () =>
      in_a_place({ ...how, server: 'v1' }, async (place) => {
        const post = (method, more = {}) =>
          fetch(place.url(), {
            method: 'POST',
            headers: {
              ...headers,
              'Content-Type': 'application/json',
              Accept: 'application/json, text/event-stream',
              ...more,
            },
            body: JSON.stringify({ jsonrpc: '2.0', id: 1, method }),
          });
        assert.equal((await post('ping')).status, 400); // it has no session
        assert.equal(await place.mcpivot.audited('ping'), 'ping from 127.0.0.1, alice');
        // This machine's own addresses are only trusted on loopback.
        assert.equal((await post('tools/list', { 'X-Forwarded-For': '192.0.2.66, 203.0.113.9' })).status, 400);
        const client = how.listen === 'unix' ? '127.0.0.1' : '203.0.113.9';
        assert.equal(await place.mcpivot.audited('tools/list'), `tools/list from ${client}, alice`);
        assert.equal((await post('ping', { Authorization: 'Bearer wrong-0123456789abcdef' })).status, 401);
        assert.equal(await place.mcpivot.audited('POST'), 'POST /mcp from 127.0.0.1: 401');
      }));

    test('only pages of the public origin may send requests', () =>
      in_a_place({ ...how, server: 'v1' }, async (place) => {
        const preflight = async (origin) =>
          (await fetch(place.url(), { method: 'OPTIONS', headers: { Origin: origin } })).status;
        assert.equal(await preflight(place.url().origin), 204);
        assert.equal(await preflight(place.url().origin.replace('https', 'http')), 403);
        assert.equal(await preflight('https://evil.example'), 403);
      }));
  });
}
