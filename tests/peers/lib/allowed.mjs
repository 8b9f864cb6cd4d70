// What mcpivot may answer otherwise than the server behind it: it offers tools of its own, tells the client of every
// capability that a later generation might have, answers lists itself, and puts announcements of changes together.

/** The result of `initialize`, as far as it must be the server's. */
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

/** The result of `tools/list`, as far as it must be the server's. */
export const comparable_tools = ({ tools, ...result }) => ({
  ...result,
  tools: tools.filter(({ name }) => !name.startsWith('pivot_')),
});

/** A notification or request that came from the server; undefined leaves it out. */
export const comparable_message = (message) =>
  /\/list_changed$/.test(message.method) ? undefined : message;

/** Whether the answers to a method must be the server's byte for byte. */
export const must_be_bytes = (method) => method !== 'initialize' && !/list$/.test(method) && method !== 'ping';

/** A whole answer, as far as it must be the server's. */
export function comparable_answer(method, answer) {
  const comparable = { initialize: comparable_handshake, 'tools/list': comparable_tools }[method];
  return comparable && answer.result ? { ...answer, result: comparable(answer.result) } : answer;
}

const is_notice = ({ type, text }) => type === 'text' && text.startsWith('[mcpivot]');

/** What mcpivot had to tell the model, and put before a tool's own result. */
export const notices_in = ({ content }) => (content ?? []).filter(is_notice).map(({ text }) => text);

/** The result of `tools/call`, as far as it must be the server's. */
export const comparable_result = (result) =>
  result.content ? { ...result, content: result.content.filter((block) => !is_notice(block)) } : result;
