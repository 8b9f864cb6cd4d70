// Reads JSON without interpreting it: the text of a member as it was written, however it was spelled.

/** The end of the value that begins at `at`. */
function end_of_value(text, at) {
  if (text[at] === '"') {
    for (at++; text[at] !== '"'; at++) if (text[at] === '\\') at++;
    return at + 1;
  }
  if (text[at] !== '{' && text[at] !== '[') {
    while (at < text.length && !/[\s,\]}]/.test(text[at])) at++;
    return at;
  }
  let depth = 0;
  do {
    if (text[at] === '"') {
      at = end_of_value(text, at);
    } else {
      if (text[at] === '{' || text[at] === '[') depth++;
      if (text[at] === '}' || text[at] === ']') depth--;
      at++;
    }
  } while (depth > 0);
  return at;
}

/** Where the value at `path` is in a JSON object's text, as [begin, end]; undefined if there is none. */
export function span(text, ...path) {
  const skip = (at) => at + text.slice(at).match(/^[\s,:]*/)[0].length;
  let found = [skip(0), text.length];
  for (const key of path) {
    let at = skip(found[0] + 1);
    found = undefined;
    while (text[at] === '"') {
      const name = JSON.parse(text.slice(at, end_of_value(text, at)));
      const begin = skip(end_of_value(text, at));
      const end = end_of_value(text, begin);
      if (name === key) found = [begin, end];
      at = skip(end);
    }
    if (!found) return undefined;
  }
  return found;
}

/** The text of the value at `path`. */
export function spelled(text, ...path) {
  const place = span(text, ...path);
  return place && text.slice(...place);
}

/** The text with another value at `path`. */
export function respelled(text, value, ...path) {
  const place = span(text, ...path);
  return place ? text.slice(0, place[0]) + value + text.slice(place[1]) : text;
}
