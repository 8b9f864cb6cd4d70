// Through mcpivot every client works with every server, whatever eras they have.
//   MCPIVOT=path/to/mcpivot node --test eras.test.mjs
// One row and one column of the matrix, in which every pair of eras occurs, with clients on stdio and clients that come
// over HTTP; with MCPIVOT_DEEP=1 all of it, and all of it again with the servers as HTTP daemons.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { client_names } from './lib/clients.mjs';
import { servers } from './lib/words.mjs';
import { cell, described, is_below } from './matrix.mjs';

const mcpivot = process.env.MCPIVOT ?? fileURLToPath(new URL('../../build/release/mcpivot', import.meta.url));
const deep = process.env.MCPIVOT_DEEP === '1';

const ways = {
  'on stdio': {},
  'through serve': { serve: true },
  ...(deep && { 'behind --url': { http: true }, 'through serve, behind --url': { serve: true, http: true } }),
};

for (const [way, how] of Object.entries(ways)) {
  describe(way, { concurrency: 2 }, () => {
    for (const server of Object.keys(servers)) {
      for (const client of client_names) {
        if (!deep && server !== 'v2-modern' && client !== 'v2-pinned') continue;
        test(`the server ${server} with the client ${client}`, async () => {
          const result = await cell(server, client, { mcpivot, ...how, limit: 15 });
          assert.ok(!is_below(result), described([result]));
        });
      }
    }
  });
}
