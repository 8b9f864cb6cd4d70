// A server for what server-everything never does: it pings its client, withdraws a question, follows the
// client's progress, reports progress of a task after the task's first answer, and sends messages of its own
// making.
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks';
import {
  CallToolRequestSchema,
  ListToolsRequestSchema,
  ResultSchema,
} from '@modelcontextprotocol/sdk/types.js';

const server = new Server(
  { name: 'asking', version: '1.0.0' },
  {
    capabilities: {
      tools: {},
      logging: {},
      tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
    },
    taskStore: new InMemoryTaskStore(),
  },
);

const question = (text) => ({
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: { type: 'text', text } }], maxTokens: 10 },
});

// The progress that the client reports is read off the wire: the SDK drops progress that arrives with the
// answer.
const transport = new StdioServerTransport();
const progress_reports = [];
transport.onmessage = ({ method, params }) =>
  method === 'notifications/progress' && progress_reports.push(params);

async function told(asking) {
  try {
    return { result: await asking };
  } catch ({ code, message, data }) {
    return { error: { code, message, data } };
  }
}

const tools = {
  echo: ({ message }) => message,

  /** Sends the client any request. */
  ask: ({ method, params }) => told(server.request({ method, params }, ResultSchema)),

  /** Sends the client `count` questions at once. */
  ask_at_once: ({ count }) =>
    Promise.all(
      Array.from({ length: count }, (_, i) => told(server.request(question(`question ${i}`), ResultSchema))),
    ),

  /**
   * Asks, and collects the progress that the client reports meanwhile, with whether its token is the one that
   * we gave.
   */
  async ask_with_progress() {
    const sent = [];
    const send = transport.send;
    transport.send = (message) => (sent.push(message), send.call(transport, message));
    const answer = await told(server.request(question('how far?'), ResultSchema, { onprogress: () => {} }));
    const { progressToken: given } = sent[0].params._meta;
    return {
      progress: progress_reports.map(({ progressToken, ...step }) => ({
        ...step,
        ours: progressToken === given,
      })),
      answer,
    };
  },

  /** Asks, and withdraws the question as soon as the client reports progress on it. */
  async ask_and_give_up() {
    await server.ping(); // uses up the id 0, which the SDK's clients cannot see cancelled
    const giving_up = new AbortController();
    const onprogress = () => giving_up.abort('never mind');
    return told(
      server.request(question('are you there?'), ResultSchema, { onprogress, signal: giving_up.signal }),
    );
  },

  /** Sends the client any notification. */
  async tell({ method, params }) {
    await transport.send({ jsonrpc: '2.0', method, params });
    return 'told';
  },
};

/** Answers with a task at once; `finish_task` completes it. */
async function start_task(extra) {
  const task = await extra.taskStore.createTask({ ttl: 60_000, pollInterval: 10 });
  tools.finish_task = async () => {
    for (const progress of [1, 2]) {
      const { progressToken } = extra._meta;
      await server.notification({
        method: 'notifications/progress',
        params: { progressToken, progress, total: 2, message: `step ${progress}` },
      });
    }
    await extra.taskStore.storeTaskResult(task.taskId, 'completed', {
      content: [{ type: 'text', text: 'finished' }],
    });
    return 'finished';
  };
  return { task };
}

server.setRequestHandler(ListToolsRequestSchema, () => ({
  tools: [...Object.keys(tools), 'start_task'].map((name) => ({ name, inputSchema: { type: 'object' } })),
}));
server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
  if (params.name === 'start_task') return start_task(extra);
  const answer = await tools[params.name](params.arguments);
  return { content: [{ type: 'text', text: JSON.stringify(answer) }] };
});

await server.connect(transport);
