// Preloaded into a Node server (node --require): writes what the server reads and writes, byte for byte, into
// the files `received` and `sent` in the folder $SERVER_TAP. It writes before the server acts, so that
// anyone who sees an answer of the server finds everything that led to it here.
const { appendFileSync, mkdirSync } = require('node:fs');
const { join } = require('node:path');

const folder = process.env.SERVER_TAP;
delete process.env.SERVER_TAP;
mkdirSync(folder, { recursive: true });

const emit = process.stdin.emit;
process.stdin.emit = function (event, ...rest) {
  if (event === 'data') appendFileSync(join(folder, 'received'), rest[0]);
  return emit.call(this, event, ...rest);
};

const write = process.stdout.write;
process.stdout.write = function (chunk, ...rest) {
  appendFileSync(join(folder, 'sent'), chunk);
  return write.call(this, chunk, ...rest);
};
