// Asks real MCP servers from npm for their tools and writes the answers next to this file, in three
// catalogs: docs/search.md says what each is for.
//
//   node bench/search/fetch_tools.mjs
//
// The packages, at the versions below, are installed into temporary folders that are removed afterwards. No
// server needs an account or a browser to list its tools; some want a token to be set, whatever it is. New
// versions: change the numbers, run, commit.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const catalogs = {
  'tools.json': [
    { name: 'everything', package: '@modelcontextprotocol/server-everything', version: '2026.8.31' },
    { name: 'filesystem', package: '@modelcontextprotocol/server-filesystem', version: '2026.8.31', arguments: ['.'] },
    { name: 'memory', package: '@modelcontextprotocol/server-memory', version: '2026.8.31' },
    { name: 'thinking', package: '@modelcontextprotocol/server-sequential-thinking', version: '2026.8.31' },
    { name: 'playwright', package: '@playwright/mcp', version: '0.0.83' },
    { name: 'github', package: '@modelcontextprotocol/server-github', version: '2025.4.8' },
    { name: 'context7', package: '@upstash/context7-mcp', version: '4.1.1' },
    { name: 'notion', package: '@notionhq/notion-mcp-server', version: '2.5.2' },
  ],
  'more_tools.json': [
    { name: 'devtools', package: 'chrome-devtools-mcp', version: '1.11.0' },
    { name: 'mongodb', package: 'mongodb-mcp-server', version: '3.0.4' },
    { name: 'kubernetes', package: 'mcp-server-kubernetes', version: '4.1.7' },
    { name: 'slack', package: '@modelcontextprotocol/server-slack', version: '2025.4.25' },
    { name: 'maps', package: '@modelcontextprotocol/server-google-maps', version: '0.6.2' },
  ],
  'unseen_tools.json': [
    { name: 'firecrawl', package: 'firecrawl-mcp', version: '3.22.2' },
    { name: 'sentry', package: '@sentry/mcp-server', version: '0.36.0', arguments: ['--access-token=none'] },
    { name: 'gitlab', package: '@modelcontextprotocol/server-gitlab', version: '2025.4.25' },
  ],
};
const patience = 60_000;

const environment = {
  ...process.env,
  FIRECRAWL_API_KEY: 'fc-none',
  GITLAB_PERSONAL_ACCESS_TOKEN: 'none',
  NOTION_TOKEN: 'none',
  SLACK_BOT_TOKEN: 'none',
  SLACK_TEAM_ID: 'none',
  GOOGLE_MAPS_API_KEY: 'none',
  PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1',
  PUPPETEER_SKIP_DOWNLOAD: '1',
};

// The program that a package runs under npx: its only one, or the one that has the package's own name.
function program(folder, name) {
  const home = join(folder, 'node_modules', name);
  const { bin } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'));
  if (typeof bin === 'string') return join(home, bin);
  return join(home, bin[name.split('/').pop()] ?? Object.values(bin)[0]);
}

function listTools(folder, server) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program(folder, server.package), ...(server.arguments ?? [])],
      { cwd: folder, env: environment, stdio: ['pipe', 'pipe', 'ignore'] });
    const timer = setTimeout(() => done(new Error(`${server.package}: no list within ${patience / 1000} s`)), patience);
    const done = (error, tools) => {
      clearTimeout(timer);
      child.kill('SIGKILL');
      if (error) reject(error); else resolve(tools);
    };
    child.on('error', done);
    child.on('exit', (code) => done(new Error(`${server.package} ended with code ${code} before it listed its tools`)));
    const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    const tools = [];
    createInterface({ input: child.stdout }).on('line', (line) => {
      let message;
      try { message = JSON.parse(line); } catch { return; }
      if (message.method !== undefined || message.id === undefined) return;
      if (message.error) return done(new Error(`${server.package}: ${message.error.message}`));
      if (message.id === 1) {
        send({ method: 'notifications/initialized' });
        return send({ id: 2, method: 'tools/list', params: {} });
      }
      tools.push(...message.result.tools);
      if (!message.result.nextCursor) return done(undefined, tools);
      send({ id: message.id + 1, method: 'tools/list', params: { cursor: message.result.nextCursor } });
    });
    send({ id: 1, method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'fetch_tools', version: '1' } } });
  });
}

// One tool per line, so that a new version makes a readable diff.
function text(fetched) {
  const blocks = fetched.map(({ tools, ...server }) =>
    `${JSON.stringify(server).slice(0, -1)},"tools":[\n${tools.map((tool) => JSON.stringify(tool)).join(',\n')}\n]}`);
  return `[\n${blocks.join(',\n')}\n]\n`;
}

// Each in its own folder: together they would share libraries, and some then describe their tools
// differently.
async function fetch(server) {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-tools-'));
  try {
    writeFileSync(join(folder, 'package.json'), '{"private": true}');
    execFileSync('npm', ['install', '--loglevel=error', '--no-audit', '--no-fund', `${server.package}@${server.version}`],
      { cwd: folder, env: environment, stdio: ['ignore', 'ignore', 'inherit'] });
    const tools = await listTools(folder, server);
    console.log(`${server.name}: ${tools.length} tools`);
    return { server: server.name, package: server.package, version: server.version, tools };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

for (const [file, servers] of Object.entries(catalogs)) {
  const fetched = [];
  for (const server of servers) fetched.push(await fetch(server));
  writeFileSync(join(import.meta.dirname, file), text(fetched));
}
