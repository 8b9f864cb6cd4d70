// On which machine a benchmark ran.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { cpus, loadavg, release } from 'node:os';
import { fileURLToPath } from 'node:url';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

function version_of(package_file) {
  return existsSync(package_file) ? JSON.parse(readFileSync(package_file, 'utf8')).version : 'not installed';
}

export const circumstances = (command) => ({
  date: new Date().toISOString().slice(0, 10),
  command,
  machine: {
    cores: cpus().length,
    cpu: cpus()[0].model.trim(),
    kernel: release().match(/^[\d.]+/)[0],
    node: process.version,
    load: loadavg()[0].toFixed(1),
  },
});

export const versions = () => ({
  mcpivot: execFileSync(here('../../build/release/mcpivot'), ['version'], { encoding: 'utf8' }).match(/[\d.]+/)[0],
  ...Object.fromEntries(
    ['mcp-proxy', 'supergateway', 'mcp-hub'].map((name) => [name, version_of(here(`../rivals/node_modules/${name}/package.json`))]),
  ),
  'mcp-remote': version_of(here('../../tests/peers/node_modules/mcp-remote/package.json')),
  'mcp-sitter': version_of(here('../../tests/peers/node_modules/@ytsuda/mcp-sitter-linux-x64/package.json')),
});
