// A port of this machine that nobody listens on now.
import { once } from 'node:events';
import { createServer } from 'node:net';

export async function free_port() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}
