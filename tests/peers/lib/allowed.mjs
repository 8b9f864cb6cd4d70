// What mcpivot may answer differently from the server behind it: it offers its own tools, tells the client of every
// capability that a later generation might have, answers lists itself, and combines announcements of changes.

/** The result of `initialize`, as far as it must equal the server's. */
export const comparable_handshake = ({ capabilities, ...result }) => {
  const own = structuredClone(capabilities ?? {});
  for (const part of ['tools', 'prompts', 'resources']) {
    delete own[part]?.listChanged;
    delete own[part]?.subscribe;
    if (Object.keys(own[part] ?? {}).length === 0) delete own[part];
  }
  for (const part of ['logging', 'completions']) delete own[part];
  return { ...result, capabilities: own };
};

/** The result of `tools/list`, as far as it must equal the server's. */
export const comparable_tools = ({ tools, ...result }) => ({
  ...result,
  tools: tools.filter(({ name }) => !name.startsWith('pivot_')),
});

/** A notification or request from the server; undefined leaves it out. */
export const comparable_message = (message) => (/\/list_changed$/.test(message.method) ? undefined : message);

/** Whether the answers to a method must equal the server's byte for byte. */
export const must_be_bytes = (method) =>
  method !== 'initialize' && !/list$/.test(method) && method !== 'ping';

/** A whole answer, as far as it must equal the server's. */
export function comparable_answer(method, answer) {
  const comparable = { initialize: comparable_handshake, 'tools/list': comparable_tools }[method];
  return comparable && answer.result ? { ...answer, result: comparable(answer.result) } : answer;
}

const is_notice = ({ type, text }) => type === 'text' && text.startsWith('[mcpivot]');
// They precede what the server said; the last block is never one of them.
const notices_before = (content) => content.slice(0, -1).findLastIndex(is_notice) + 1;

// In an error they precede its message, with an empty line after each.
const notices_in_error = /\[mcpivot\] [^]*\n\n/;

/** What mcpivot had to tell the model, and put before a tool's own result. */
export const notices_in = ({ content = [], failed }) => [
  ...content.slice(0, notices_before(content)).map(({ text }) => text),
  ...(failed?.message.match(notices_in_error) ?? []),
];

/** The result of `tools/call`, as far as it must equal the server's. */
export function comparable_result({ content, failed, structuredContent, ...rest }) {
  if (failed) return { failed: { ...failed, message: failed.message.replace(notices_in_error, '') } };
  const result = content ? { ...rest, content: content.slice(notices_before(content)) } : rest;
  if (!structuredContent) return result;
  const { _mcpivot, ...own } = structuredContent; // for clients that show nothing else to the model
  return { ...result, structuredContent: own };
}
