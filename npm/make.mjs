// Makes the npm packages: `mcpivot`, which people install, and one for each platform with the program itself, which
// npm selects.
//
//     node npm/make.mjs VERSION BINARY MAN_PAGE OUT [PLATFORM]
//
// writes OUT/mcpivot and OUT/PLATFORM: linux-x64 or linux-arm64, by default this machine's.
import { chmodSync, copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const platforms = ['linux-x64', 'linux-arm64'];

const [version, binary, manPage, out, platform = `${process.platform}-${process.arch}`] = process.argv.slice(2);
if (out === undefined) {
  console.error('usage: node npm/make.mjs VERSION BINARY MAN_PAGE OUT [PLATFORM]');
  process.exit(2);
}
const here = dirname(fileURLToPath(import.meta.url));
if (!platforms.includes(platform)) {
  console.error(`make.mjs: there is no package for ${platform}, only for ${platforms.join(', ')}`);
  process.exit(1);
}

const common = { version, license: 'MIT' };

function lay(folder, manifest, files) {
  const root = join(out, folder);
  rmSync(root, { recursive: true, force: true });
  mkdirSync(root, { recursive: true });
  writeFileSync(join(root, 'package.json'), JSON.stringify(manifest, null, 2) + '\n');
  copyFileSync(join(here, '../LICENSE'), join(root, 'LICENSE'));
  for (const [to, from] of Object.entries(files)) {
    mkdirSync(dirname(join(root, to)), { recursive: true });
    copyFileSync(from, join(root, to));
    if (to.startsWith('bin/')) chmodSync(join(root, to), 0o755);
  }
}

lay('mcpivot', {
  name: 'mcpivot',
  ...common,
  description: 'Rebuild, restart and crash MCP servers without breaking your AI client’s connection',
  keywords: ['mcp', 'model-context-protocol', 'proxy', 'gateway', 'hot-reload'],
  bin: { mcpivot: 'bin/mcpivot.js' },
  man: ['man/mcpivot.1'],
  files: ['bin', 'man'],
  engines: { node: '>=18' },
  optionalDependencies: Object.fromEntries(platforms.map((name) => [`@mcpivot/${name}`, version])),
}, { 'bin/mcpivot.js': join(here, 'mcpivot.js'), 'man/mcpivot.1': manPage, 'README.md': join(here, 'README.md') });

const [system, processor] = platform.split('-');
lay(platform, {
  name: `@mcpivot/${platform}`,
  ...common,
  description: `The mcpivot program for ${system} on ${processor}`,
  os: [system],
  cpu: [processor],
  libc: ['glibc'],
  files: ['bin'],
  preferUnplugged: true,
}, { 'bin/mcpivot': binary });
