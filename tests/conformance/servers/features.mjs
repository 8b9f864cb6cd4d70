// What the conformance suite requires of a server, written once for both major versions of the SDK: tables of tools,
// prompts and resources. A dialect (v1.mjs, v2.mjs) gives each handler a context that asks the client, reports progress
// and logs in its SDK's way.
import { setTimeout as sleep } from 'node:timers/promises';

const text = (value) => ({ content: [{ type: 'text', text: value }] });
const said_by_user = (content) => ({ messages: [{ role: 'user', content }] });
const object = (properties = {}, required = Object.keys(properties)) => ({ type: 'object', properties, required });
const string = { type: 'string' };

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=';
const wav = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA==';
const image = { type: 'image', data: png, mimeType: 'image/png' };
const resource = (uri, mimeType, content) => ({ type: 'resource', resource: { uri, mimeType, text: content } });

const form = (message, requestedSchema) => ({ method: 'elicitation/create', params: { mode: 'form', message, requestedSchema } });
const sampling = (prompt) => ({
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens: 100 },
});
const roots = { method: 'roots/list' };
const who = form('What is your name?', object({ name: string }));
const confirm = form('Go on?', object({ ok: { type: 'boolean' } }));
const outcome = ({ action, content }) => text(`action=${action}, content=${JSON.stringify(content ?? {})}`);

const choices = (word) => [1, 2, 3].map((number) => ({ const: `value${number}`, title: `${word} ${number}` }));
const plain_choices = { type: 'string', enum: ['option1', 'option2', 'option3'] };

// A schema that no SDK would write: all of its keywords must arrive.
const address = { $anchor: 'addressDef', ...object({ street: string, city: string }, []) };
delete address.required;
const rich_schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: { address },
  properties: {
    name: string,
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: string,
    email: string,
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
};

async function with_pauses(steps) {
  for (const [number, step] of steps.entries()) {
    if (number > 0) await sleep(50);
    await step();
  }
}

// Each is [what it takes, what it does with (arguments, context)].
const tool_table = {
  test_simple_text: [object(), () => text('This is a simple text response for testing.')],
  test_image_content: [object(), () => ({ content: [image] })],
  test_audio_content: [object(), () => ({ content: [{ type: 'audio', data: wav, mimeType: 'audio/wav' }] })],
  test_embedded_resource: [
    object(),
    () => ({ content: [resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')] }),
  ],
  test_multiple_content_types: [
    object(),
    () => ({
      content: [
        { type: 'text', text: 'Multiple content types test:' },
        image,
        resource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
      ],
    }),
  ],
  test_error_handling: [object(), () => ({ ...text('This tool intentionally returns an error for testing'), isError: true })],
  test_tool_with_logging: [
    object(),
    async (_, context) => {
      const lines = ['Tool execution started', 'Tool processing data', 'Tool execution completed'];
      await with_pauses(lines.map((line) => () => context.log('info', line)));
      return text('Logged.');
    },
  ],
  test_logging_tool: [
    object(),
    async (_, context) => {
      await context.log('info', 'A line of the log.');
      return text('Logged.');
    },
  ],
  test_tool_with_progress: [
    object(),
    async (_, context) => {
      await with_pauses([0, 50, 100].map((done) => () => context.progress(done, 100)));
      return text('Done.');
    },
  ],
  test_reconnection: [
    object(),
    async (_, context) => {
      context.close_stream();
      await sleep(1500); // longer than anyone waits before answering in a stream
      return text('The stream was closed and opened again.');
    },
  ],
  test_x_mcp_header: [
    object({ region: { ...string, 'x-mcp-header': 'Region' } }),
    ({ region }) => text(`The region is ${region}.`),
  ],
  json_schema_2020_12_tool: [rich_schema, () => text('It fits.')],

  test_sampling: [
    object({ prompt: string }),
    ({ prompt }, context) =>
      context.interview([{ answer: sampling(prompt) }], ({ answer }) => text(`LLM response: ${answer.content.text}`)),
  ],
  test_elicitation: [
    object({ message: string }),
    ({ message }, context) => {
      const asked = form(message, object({ username: string, email: string }));
      return context.interview([{ answer: asked }], ({ answer }) => outcome(answer));
    },
  ],
  test_elicitation_sep1034_defaults: [
    object(),
    (_, context) => {
      const fields = {
        name: { ...string, default: 'John Doe' },
        age: { type: 'integer', default: 30 },
        score: { type: 'number', default: 95.5 },
        status: { ...string, enum: ['active', 'inactive', 'pending'], default: 'active' },
        verified: { type: 'boolean', default: true },
      };
      const asked = form('All of these have defaults.', object(fields, []));
      return context.interview([{ answer: asked }], ({ answer }) => outcome(answer));
    },
  ],
  test_elicitation_sep1330_enums: [
    object(),
    (_, context) => {
      const fields = {
        untitledSingle: plain_choices,
        titledSingle: { type: 'string', oneOf: choices('Option') },
        legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['Option One', 'Option Two', 'Option Three'] },
        untitledMulti: { type: 'array', items: plain_choices },
        titledMulti: { type: 'array', items: { anyOf: choices('Choice') } },
      };
      return context.interview([{ answer: form('Choose.', object(fields, [])) }], ({ answer }) => outcome(answer));
    },
  ],
  test_streaming_elicitation: [
    object(),
    (_, context) => context.interview([{ user_name: who }], ({ user_name }) => outcome(user_name)),
  ],
  test_missing_capability: [
    object(),
    (_, context) => context.interview([{ answer: sampling('Say something.') }], ({ answer }) => text(answer.content.text)),
  ],

  test_input_required_result_elicitation: [
    object(),
    (_, context) => context.interview([{ user_name: who }], ({ user_name }) => text(`Hello, ${user_name.content?.name}!`)),
  ],
  test_input_required_result_sampling: [
    object(),
    (_, context) =>
      context.interview([{ capital_question: sampling('What is the capital of France?') }], ({ capital_question }) =>
        text(capital_question.content.text),
      ),
  ],
  test_input_required_result_list_roots: [
    object(),
    (_, context) => context.interview([{ client_roots: roots }], ({ client_roots }) => text(JSON.stringify(client_roots.roots))),
  ],
  test_input_required_result_request_state: [
    object(),
    (_, context) => context.interview([{ confirm }], () => text('state-ok'), { stateful: true }),
  ],
  test_input_required_result_tampered_state: [
    object(),
    (_, context) => context.interview([{ confirm }], () => text('state-ok'), { stateful: true }),
  ],
  test_input_required_result_multiple_inputs: [
    object(),
    (_, context) =>
      context.interview(
        [{ user_name: who, greeting: sampling('Generate a greeting'), client_roots: roots }],
        ({ user_name, greeting, client_roots }) =>
          text(`${greeting.content.text} ${user_name.content?.name}, ${client_roots.roots.length} roots`),
        { stateful: true },
      ),
  ],
  test_input_required_result_multi_round: [
    object(),
    (_, context) =>
      context.interview(
        [
          { step1: form('Step 1: What is your name?', object({ name: string })) },
          { step2: form('Step 2: What is your favorite color?', object({ color: string })) },
        ],
        ({ step1, step2 }) => text(`${step1.content?.name} likes ${step2.content?.color}.`),
        { stateful: true },
      ),
  ],
  test_input_required_result_capabilities: [
    object(),
    (_, context) => {
      const can = context.capabilities();
      const asked = {
        ...(can?.elicitation && { user_name: who }),
        ...(can?.sampling && { greeting: sampling('Generate a greeting') }),
      };
      return context.interview([asked], () => text('All questions were allowed.'));
    },
  ],

  test_trigger_tool_change: [
    object(),
    (_, context) => {
      context.change('tools');
      return text('The tools are others now.');
    },
  ],
  test_trigger_prompt_change: [
    object(),
    (_, context) => {
      context.change('prompts');
      return text('The prompts are others now.');
    },
  ],
};
const named = ([name, [inputSchema, handle]]) => ({ name, description: `The suite's tool ${name}.`, inputSchema, handle });
export const tools = Object.entries(tool_table).map(named);
/** What is added and removed each time a list should change. */
export const extra_tool = named(['test_extra_tool', [object(), () => text('I come and go.')]]);
export const extra_prompt = {
  name: 'test_extra_prompt',
  takes: [],
  handle: () => said_by_user({ type: 'text', text: 'I come and go.' }),
};

export const prompts = [
  {
    name: 'test_simple_prompt',
    takes: [],
    handle: () => said_by_user({ type: 'text', text: 'This is a simple prompt for testing.' }),
  },
  {
    name: 'test_prompt_with_arguments',
    takes: ['arg1', 'arg2'],
    handle: ({ arg1, arg2 }) => said_by_user({ type: 'text', text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'` }),
  },
  {
    name: 'test_prompt_with_embedded_resource',
    takes: ['resourceUri'],
    handle: ({ resourceUri }) => said_by_user(resource(resourceUri, 'text/plain', 'Embedded resource content for testing.')),
  },
  { name: 'test_prompt_with_image', takes: [], handle: () => said_by_user(image) },
  {
    name: 'test_input_required_result_prompt',
    takes: [],
    handle: (_, context) =>
      context.interview(
        [{ user_context: form('What context should the prompt use?', object({ context: string })) }],
        ({ user_context }) => said_by_user({ type: 'text', text: `In this context: ${user_context.content?.context}` }),
      ),
  },
];
/** The possible values of a prompt's argument. */
export const completions = (start) => ['paris', 'park', 'party'].filter((word) => word.startsWith(start));

export const resources = [
  { uri: 'test://static-text', mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
  { uri: 'test://static-binary', mimeType: 'image/png', blob: png },
  { uri: 'test://watched-resource', mimeType: 'text/plain', text: 'Watch me.' },
];
export const template = {
  uri: 'test://template/{id}/data',
  mimeType: 'application/json',
  read: (id) => JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
};

export const capabilities = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  logging: {},
  completions: {},
};
