// What mcpivot may answer otherwise than the server behind it. Today nothing: each function demands equality.

/** The result of `initialize`, as far as it must be the server's. */
export const comparable_handshake = (result) => result;

/** The result of `tools/list`, as far as it must be the server's. */
export const comparable_tools = (result) => result;

/** A notification or request that came from the server; undefined leaves it out. */
export const comparable_message = (message) => message;

/** Whether the answers to a method must be the server's byte for byte. */
export const must_be_bytes = (_method) => true;

/** A whole answer, as far as it must be the server's. */
export function comparable_answer(method, answer) {
  const comparable = { initialize: comparable_handshake, 'tools/list': comparable_tools }[method];
  return comparable && answer.result ? { ...answer, result: comparable(answer.result) } : answer;
}
