// A real browser for tests, as BROWSER names it: headless Chromium opens the address, and its user fills in the issuer's
// pages and clicks through them. What the last page says is appended to $BROWSER_LOG.
//   chromium.mjs URL
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import puppeteer from 'puppeteer-core';

const profile = mkdtempSync(join(tmpdir(), 'mcpivot-chromium-'));
const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  userDataDir: profile,
  args: [
    '--no-sandbox', // the tests may run as root, and open only pages of this machine
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
});
const tell = (what) => appendFileSync(process.env.BROWSER_LOG, `${JSON.stringify(what)}\n`);
try {
  const page = await browser.newPage();
  const pages = [];
  await page.goto(process.argv[2]);
  while (await page.$('form button[type=submit]')) {
    pages.push(await page.title());
    if (await page.$('input[name=login]')) {
      await page.type('input[name=login]', 'ada');
      await page.type('input[name=password]', 'anything');
    }
    await Promise.all([page.waitForNavigation(), page.click('form button[type=submit]')]);
  }
  const { pathname } = new URL(page.url());
  tell({ pages, pathname, text: await page.$eval('body', (body) => body.innerText) });
} catch (error) {
  tell({ error: String(error) });
} finally {
  await browser.close();
  rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
}
