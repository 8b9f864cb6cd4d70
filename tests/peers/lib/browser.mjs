// A browser for tests, as BROWSER names it: opens the address, signs in on the real pages of the issuer as a user would
// (fills in their forms, keeps their cookies, follows their redirects), and returns to the program that sent it. Each opened
// address is a line in $BROWSER_LOG, and in $BROWSER_LOG.closed when it is done with it; $BROWSER_USER signs in.
//   browser.mjs URL
import { appendFileSync } from 'node:fs';

const cookies = new Map();

function remember(response) {
  for (const line of response.headers.getSetCookie()) {
    const [name, value] = line.split(';')[0].split('=');
    if (/expires=Thu, 01 Jan 1970/i.test(line)) cookies.delete(name);
    else cookies.set(name, value);
  }
}

/** `elsewhere`: the browser is on another machine, where nothing listens on the redirect address. */
async function visit(url, form, elsewhere) {
  if (elsewhere && new URL(url).pathname === '/callback') return { url, status: 0, text: '' };
  const response = await fetch(url, {
    method: form ? 'POST' : 'GET',
    body: form && new URLSearchParams(form),
    headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
    redirect: 'manual',
  });
  remember(response);
  const to = response.headers.get('location');
  return to ? visit(new URL(to, url), undefined, elsewhere) : { url, status: response.status, text: await response.text() };
}

/** What a page asks for, filled in by this user. */
function filled(text, user) {
  const form = { login: user, password: 'anything' };
  for (const [field] of text.matchAll(/<input [^>]*>/g)) {
    const [, name] = /name="([^"]*)"/.exec(field) ?? [];
    const [, value] = /value="([^"]*)"/.exec(field) ?? [];
    if (name && value !== undefined) form[name] = value;
  }
  return form;
}

/** Where the browser ends up: the page that it was sent back to. */
export async function sign_in(url, user = 'ada', elsewhere = false) {
  let page = await visit(url, undefined, elsewhere);
  for (let pages = 0; pages < 5; ++pages) {
    const [, action] = /<form [^>]*action="([^"]+)"/.exec(page.text) ?? [];
    if (!action) return page;
    page = await visit(new URL(action, page.url), filled(page.text, user), elsewhere);
  }
  throw new Error(`the pages do not end: ${page.text}`);
}

if (process.env.BROWSER_LOG && process.argv[2]?.startsWith('http')) {
  appendFileSync(process.env.BROWSER_LOG, `${process.argv[2]}\n`);
  try {
    const { status, text } = await sign_in(process.argv[2], process.env.BROWSER_USER);
    appendFileSync(`${process.env.BROWSER_LOG}.pages`, `${status} ${text}\n`);
  } finally {
    appendFileSync(`${process.env.BROWSER_LOG}.closed`, `${process.argv[2]}\n`);
  }
}
