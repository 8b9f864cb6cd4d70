// The server that the conformance suite tests: server.mjs legacy|modern stdio|http
//
// Over HTTP it prints its URL as its first line.
import { createServer } from 'node:http';

const [era, transport] = process.argv.slice(2);
const { stdio, http } = await import(era === 'legacy' ? './servers/v1.mjs' : './servers/v2.mjs');

// A web page must not reach a server of this machine by a name that resolves to it.
const is_local = (name) => ['127.0.0.1', 'localhost', '[::1]'].includes(name);
const is_welcome = ({ headers }) =>
  is_local(new URL(`http://${headers.host}`).hostname) && (!headers.origin || is_local(new URL(headers.origin).hostname));

async function body_of(request) {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  return text === '' ? undefined : JSON.parse(text);
}

if (transport === 'stdio') {
  await stdio();
} else {
  const handle = http();
  const server = createServer(async (request, response) => {
    if (!is_welcome(request)) return response.writeHead(403).end();
    await handle(request, response, await body_of(request));
  });
  server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
}
