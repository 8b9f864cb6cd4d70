// Five processes with one server that wants a sign-in (OAuth): how many pages open, and what becomes of fifty calls when the
// token is no longer accepted. mcpivot and mcp-remote, each against an authorization server of its own (oidc-provider).
//   ./dev bench sign-in
import { mkdirSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const program = process.argv[2] ? resolve(process.argv[2]) : fileURLToPath(new URL('../build/release/mcpivot', import.meta.url));
process.env.MCPIVOT ??= program;
const { echo, start_all } = await import('../tests/peers/lib/signing-in.mjs');
const require = createRequire(new URL('../tests/peers/package.json', import.meta.url));
const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js');
const mcp_remote = fileURLToPath(new URL('../tests/peers/node_modules/mcp-remote/dist/proxy.js', import.meta.url));

const rivals = {
  mcpivot: (url) => [program, ['--url', url]],
  'mcp-remote': (url) => [process.execPath, [mcp_remote, url]],
};
const fifty = (clients) => Promise.all(clients.flatMap((client) => Array.from({ length: 10 }, () => echo(client, 'x'))));
const failed = (results) => results.filter(({ isError }) => isError).length;

async function measure(command) {
  const { issuer, server, home, stop } = await start_all();
  // Not every program uses BROWSER.
  const bin = join(home.root, 'bin');
  mkdirSync(bin);
  for (const name of ['xdg-open', 'x-www-browser', 'sensible-browser']) symlinkSync(home.env.BROWSER, join(bin, name));
  home.env.PATH = `${bin}:${home.env.PATH}`;
  const [program, args] = command(server.url);
  const clients = await Promise.all(
    Array.from({ length: 5 }, async () => {
      const client = new Client({ name: 'a-client', version: '1' }, { capabilities: {} });
      await client.connect(new StdioClientTransport({ command: program, args, env: home.env, stderr: 'ignore' }), { timeout: 60_000 });
      return client;
    }),
  );
  try {
    const first = failed(await fifty(clients));
    const pages = home.tabs.length;
    issuer.expire_tokens();
    const then = failed(await fifty(clients));
    const { registrations, authorizations, refreshes, failed_refreshes } = issuer.counts;
    const more = home.tabs.length - pages;
    return [pages, first, more, then, registrations, authorizations, refreshes, failed_refreshes];
  } finally {
    await Promise.all(clients.map((client) => client.close()));
    await stop();
  }
}

console.log('| | pages to sign in | calls that fail | pages when the token expires | calls that fail | registrations | authorizations | refreshes | refused refreshes |');
console.log('|---|---|---|---|---|---|---|---|---|');
for (const [name, command] of Object.entries(rivals)) console.log(`| ${name} | ${(await measure(command)).join(' | ')} |`);
process.exit(); // mcp-remote's browsers may still be running
