// A user who signs in with a real browser: mcpivot opens Chromium on the issuer's real pages, the user clicks through them,
// and the call that waited is answered. `./dev clients` installs Chromium and runs this:
//   MCPIVOT=path/to/mcpivot node --test sign_in.test.mjs
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventually } from '../peers/lib/place.mjs';
import { echo, has_echo, start_all } from '../peers/lib/signing-in.mjs';

test("the server can be used after Chromium clicks through the issuer's pages", { timeout: 120_000 }, async () => {
  const { issuer, server, home, stop } = await start_all();
  try {
    home.browse_with(fileURLToPath(new URL('chromium.mjs', import.meta.url)));
    const client = await home.client('--url', server.url);
    await has_echo(client);
    assert.match((await echo(client, 'hello')).text, /echo: hello/);
    const log = join(home.root, 'tabs');
    const seen = await eventually(() => existsSync(log) && JSON.parse(readFileSync(log, 'utf8')), 'the last page is shown');
    assert.equal(seen.error, undefined);
    assert.equal(seen.pages.length, 2, 'one to sign in, one to agree');
    assert.equal(seen.pathname, '/callback');
    assert.match(seen.text, /You are signed in to/);
    assert.match(seen.text, /You can close this page/);
    assert.equal(issuer.counts.authorizations, 1);
  } finally {
    await stop();
  }
});
