// Every feature of server-everything gives the same result through mcpivot as without it.
//   MCPIVOT=path/to/mcpivot node --test everything.test.mjs
// Each test plays one scenario on a direct connection and on one through mcpivot, with the official SDK's
// client, and demands that all the client sees is equal; lib/same.mjs says what that means.
import { describe } from 'node:test';
import { handshake } from './everything/handshake.mjs';
import { progress } from './everything/progress.mjs';
import { prompts } from './everything/prompts.mjs';
import { requests } from './everything/requests.mjs';
import { resources } from './everything/resources.mjs';
import { server_requests } from './everything/asking.mjs';
import { tasks } from './everything/tasks.mjs';
import { tools } from './everything/tools.mjs';

describe('mcpivot gives the same results as a direct connection', { concurrency: 6 }, () => {
  handshake();
  tools();
  progress();
  prompts();
  resources();
  requests();
  tasks();
  server_requests();
});
