import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { browserPath } from '../servers/needs-browser.ts';
import { ASKER, TOOLS } from './agents.ts';
import { openStage, type Stage } from './open-stage.ts';
import { useBrowser } from './use-browser.ts';

const browsing = useBrowser();
let stage: Stage;
beforeAll(async () => {
  if (browserPath !== undefined) stage = await openStage({ files: { ...TOOLS, ...ASKER } });
});
afterAll(async () => {
  // What a page asks for while the stage closes may find the store closed.
  const errors = [...(stage?.errors ?? [])];
  await stage?.close();
  expect(errors).toEqual([]);
});

const LONG = { timeout: 120_000 };

async function openReview(): Promise<string> {
  const { id } = await stage.client.startSession({ agent: 'asker', input: 'Ship it.' });
  let review: string | undefined;
  await expect
    .poll(async () => {
      review = (await stage.client.reviews({ session: id })).items[0]?.review;
      return review;
    })
    .toBeDefined();
  return review ?? expect.unreachable();
}

/** A page of some other site, which the person has open in the same browser. */
async function hostileSite(html: string): Promise<string> {
  const site = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(html);
  });
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    site.closeAllConnections();
    site.close();
  });
  return `http://127.0.0.1:${(site.address() as AddressInfo).port}/`;
}

/** Everything that a page can have a browser send to another server, and what it gets to see of the answer. */
const attack = (
  urls: readonly string[],
  review: string,
) => `<!doctype html><title>Cats</title><script type="module">
const seen = [];
const see = (what) => seen.push(what);
const body = JSON.stringify({ answer: 'approved' });
for (const url of ${JSON.stringify(urls)}) {
  const approve = url + '/reviews/${review}';
  for (const path of ['/whoami', '/reviews', '/openapi.json', '/events', '/'])
    for (const mode of ['cors', 'no-cors'])
      for (const credentials of ['include', 'omit'])
        await fetch(url + path, { mode, credentials, signal: AbortSignal.timeout(3000) })
          .then(async (answer) => see(await answer.text()), () => undefined);
  for (const type of ['text/plain', 'application/json', 'application/x-www-form-urlencoded'])
    for (const mode of ['cors', 'no-cors'])
      await fetch(approve, { method: 'POST', mode, credentials: 'include', headers: { 'content-type': type }, body })
        .then(async (answer) => see(await answer.text()), () => undefined);
  navigator.sendBeacon(approve, new Blob([body], { type: 'text/plain' }));
  await new Promise((done) => {
    const image = new Image();
    image.onload = () => { see('image'); done(); };
    image.onerror = done;
    image.src = url + '/whoami';
  });
  await new Promise((done) => {
    const source = new EventSource(url + '/events', { withCredentials: true });
    source.onopen = source.onmessage = () => see('event');
    source.onerror = () => { source.close(); done(); };
  });
  await new Promise((done) => {
    const socket = new WebSocket(url.replace('http', 'ws') + '/events');
    socket.onopen = () => see('socket');
    socket.onclose = done;
  });
  const frame = document.createElement('iframe');
  frame.name = 'hidden';
  document.body.append(frame);
  const form = document.createElement('form');
  Object.assign(form, { method: 'POST', action: approve, target: 'hidden', enctype: 'text/plain' });
  const field = document.createElement('input');
  field.name = '{"answer":"approved","note":"';
  field.value = '"}';
  form.append(field);
  document.body.append(form);
  const sent = new Promise((done) => { frame.onload = done; setTimeout(done, 2000); });
  form.submit();
  await sent;
  try { see(frame.contentDocument.body.textContent); } catch {}
}
document.title = 'done ' + JSON.stringify(seen.filter((text) => text !== ''));
</script>`;

describe('a web page of another site', () => {
  it('changes nothing and sees nothing, also while the console is open beside it', LONG, async () => {
    const review = await openReview();
    const own = await browsing.open(stage.at('/sessions'));
    await own.page.getByText(/ana · admin/).waitFor();
    const urls = [
      stage.url,
      stage.url.replace('127.0.0.1', 'localhost'),
      stage.url.replace('127.0.0.1', 'evil.localhost'),
    ];
    const site = await hostileSite(attack(urls, review));
    // Not watched: it asks for what it likes, and is refused.
    const page = await own.context.newPage();
    await page.goto(site);
    await expect.poll(() => page.title(), { timeout: 90_000 }).toMatch(/^done/);
    expect(await page.title()).toBe('done []');
    expect((await stage.client.reviews()).items.map((each) => each.review)).toContain(review);
    // What it sent is on the audit, as nobody's.
    const tried = (await stage.client.audit({ limit: 200 })).items.filter(({ about }) => about === review);
    expect(tried.length).toBeGreaterThan(0);
    for (const { who, status } of tried) expect([/^unknown/.test(who), status >= 400]).toEqual([true, true]);
    expect(await own.context.cookies()).toEqual([]);
  });
});

describe('the link with the token', () => {
  it('signs this tab in, leaves the address at once, and signs no other tab in', LONG, async () => {
    const { page, requests, context } = await browsing.open(stage.at('/agents'));
    await page.getByText(/ana · admin/).waitFor();
    expect(page.url()).toBe(`${stage.url}/#/agents`);
    const [, token = ''] = /token=(tt_[\w-]+)/.exec(stage.at('')) ?? [];
    expect(requests.filter((url) => new URL(url).search.includes('tt_'))).toEqual([]);
    await page.reload();
    await page.getByText(/ana · admin/).waitFor();
    await page.goto('about:blank');
    await page.goBack();
    await page.getByText(/ana · admin/).waitFor();
    expect(page.url()).not.toContain('token');
    // Neither kept beyond the tab, nor in a cookie.
    expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain('tt_');
    expect(await context.cookies()).toEqual([]);

    const other = await browsing.beside(
      { page, requests, context, forgive: () => undefined },
      stage.without('/reviews'),
    );
    other.forgive(/401/);
    const field = other.page.getByRole('textbox', { name: 'Token' });
    await field.waitFor();
    await other.page.getByText('telltale token link').waitFor();
    // The whole link may be pasted.
    await field.fill(`  console  ${stage.url}/#token=${token}`);
    await other.page.getByRole('button', { name: 'Sign in' }).click();
    await other.page.getByText(/ana · admin/).waitFor();
  });

  it('signs in a tab that is open already, and one that asks for a token', LONG, async () => {
    const { page, forgive } = await browsing.open(stage.without('/sessions'));
    forgive(/401/);
    await page.getByRole('textbox', { name: 'Token' }).waitFor();
    await page.goto(stage.at('/agents'));
    await page.getByText(/ana · admin/).waitFor();
    expect(page.url()).toBe(`${stage.url}/#/agents`);
  });
});
