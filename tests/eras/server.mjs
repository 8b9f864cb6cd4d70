// A server of one of five kinds, with everything that the matrix asks for:
//   node server.mjs v1|v2-legacy|v2-modern|v2-dual|everything [--http PORT]
// On stdio, or over Streamable HTTP at http://127.0.0.1:PORT/mcp. ERAS_PIDS names a file to which each process adds its
// pid, so that it can be killed; ERAS_BUILD one with the name of the build, which the tool `build` tells.
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { World } from './servers/world.mjs';
import { body_of } from './servers/sessions.mjs';

const kinds = {
  v1: () => import('./servers/v1.mjs'),
  'v2-legacy': () => import('./servers/v2.mjs'),
  'v2-modern': () => import('./servers/v2.mjs'),
  'v2-dual': () => import('./servers/v2.mjs'),
};

const [kind, option, port] = process.argv.slice(2);
const world = new World();
if (process.env.ERAS_PIDS) appendFileSync(process.env.ERAS_PIDS, `${process.pid}\n`);

if (kind === 'everything') {
  process.env.ERAS_BUILD_NAME = world.build; // reported by its tool get-env
  process.env.PORT = port;
  await import(
    `@modelcontextprotocol/server-everything/dist/transports/${option === '--http' ? 'streamableHttp' : 'stdio'}.js`
  );
} else if (kinds[kind]) {
  const { stdio, http } = await kinds[kind]();
  const eras = kind.slice(3);
  if (option !== '--http') {
    await stdio(world, eras);
  } else {
    const handle = http(world, eras);
    createServer(async (request, response) => {
      try {
        await handle(request, response, request.method === 'POST' ? await body_of(request) : undefined);
      } catch (error) {
        console.error(error);
        if (!response.headersSent) response.writeHead(500).end();
      }
    }).listen(Number(port), '127.0.0.1');
  }
} else {
  console.error(`server.mjs: there is no server "${kind}"; there are ${Object.keys(kinds).join(', ')} and everything`);
  process.exit(2);
}
