// What to run: the servers, mcpivot, and the environment that both ways to a server share.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** A reference server from npm. */
const reference = (name) => [
  process.execPath,
  here(`../node_modules/@modelcontextprotocol/server-${name}/dist/index.js`),
];

/** The one with every feature of the protocol. */
export const everything = [...reference('everything'), 'stdio'];
/** The same as a daemon; it listens on the port in the variable PORT. */
export const everything_daemon = [...reference('everything'), 'streamableHttp'];
/** Its folders are the client's roots, or its arguments until it knows the roots. */
export const filesystem = reference('filesystem');
/** It stores what it learns in the file in the variable MEMORY_FILE_PATH. */
export const memory = reference('memory');
/** A program that isn't a server, but describes its tools. */
export const text_tools = [process.execPath, here('../../../examples/cli-tools/text.mjs')];

/** Our own server, for what server-everything never does. */
export const asking = [process.execPath, here('asking-server.mjs')];

const mcpivot = resolve(process.env.MCPIVOT ?? here('../../../build/release/mcpivot'));
if (!existsSync(mcpivot))
  throw new Error(`there is no ${mcpivot}; run ./dev build, or set MCPIVOT to the binary to test`);

/** The same command, behind mcpivot. */
export const through = (command) => [mcpivot, '--', ...command];

/** A program's tools, behind mcpivot. */
export const tools_from = (command) => [mcpivot, '--tools-from', command.join(' ')];

/** All servers of a configuration file, behind one mcpivot. */
export const gateway = (file) => [mcpivot, '--config', file];

/** Makes a Node server record, byte for byte, what it reads and writes; see server-tap.cjs. */
export const tapped = ([node, ...rest]) => [node, '--require', here('server-tap.cjs'), ...rest];

/** How long to wait for anything before a test fails, in milliseconds. */
export const patience = 1000 * Number(process.env.TEST_PATIENCE_SECONDS ?? 60);

const scratch = mkdtempSync(join(tmpdir(), 'mcpivot-peers-'));
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));

let folders = 0;
/** A new path for a test's own folder; it is removed when the tests end. */
export const scratch_path = () => join(scratch, String(++folders));

/** Given to both ways, so that the tested mcpivot leaves the user's own files alone, and knows nothing from the
 * test before. */
export const environment = {
  XDG_STATE_HOME: join(scratch, 'state'),
  XDG_CACHE_HOME: '/dev/null',
  XDG_CONFIG_HOME: join(scratch, 'config'),
  XDG_RUNTIME_DIR: join(scratch, 'run'),
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => /^[A-Z]+SAN_OPTIONS$/.test(name))),
};
