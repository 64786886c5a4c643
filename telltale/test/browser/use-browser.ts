import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { browserPath, needsBrowser } from '../servers/needs-browser.ts';
import { launchBrowser } from './launch-browser.ts';

/** A step of a test waits that long for what it looks for; it only ends what hangs. */
const PATIENCE_MS = 45_000;

/** What a page says of anything that it did not want to load or run. Runs before the page's own scripts. */
const CANARIES = `
  addEventListener('securitypolicyviolation', (event) =>
    console.error('policy violated: ' + event.violatedDirective + ' ' + event.blockedURI));
`;

/** What stays on this machine. */
const OWN = /^(http:\/\/127\.0\.0\.1:\d+\/|data:|blob:|about:)/;

/** A page of a person of their own: nothing is shared with other tabs. */
export interface Tab {
  readonly page: Page;
  readonly context: BrowserContext;
  /** All that the page asked for, by address. */
  readonly requests: readonly string[];
  /** Errors of the page that a test is about, and that do not count against it. */
  forgive(what: RegExp): void;
}

export interface Browsing {
  browser(): Browser;
  /** Opens an address. Waits for nothing but the document. */
  open(url: string, options?: BrowserContextOptions): Promise<Tab>;
  /** Another tab of the same person. */
  beside(tab: Tab, url: string): Promise<Tab>;
}

/**
 * One Chromium for the tests of a file, and after each test a look back: no page wrote an error, opened a dialog, broke the
 * policy or asked for anything that is not on its own server.
 */
export function useBrowser(): Browsing {
  let browser: Browser | undefined;
  const contexts: BrowserContext[] = [];
  const judges: (() => readonly string[])[] = [];
  needsBrowser();
  beforeAll(async () => {
    if (browserPath !== undefined) browser = await launchBrowser(browserPath);
  });
  afterAll(async () => {
    await browser?.close();
  });
  afterEach(async () => {
    const complaints = judges.splice(0).flatMap((judge) => judge());
    for (const context of contexts.splice(0)) await context.close();
    expect(complaints).toEqual([]);
  });
  const theBrowser = (): Browser => browser ?? expect.unreachable('no browser was started');

  const watched = async (context: BrowserContext, url: string): Promise<Tab> => {
    const page = await context.newPage();
    const requests: string[] = [];
    const complaints: string[] = [];
    const forgiven: RegExp[] = [];
    page.on('request', (request) => requests.push(request.url()));
    page.on('pageerror', (error) => complaints.push(`thrown: ${error.message}`));
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning')
        complaints.push(`${message.text()} ${message.location().url}`);
    });
    page.on('dialog', (dialog) => {
      complaints.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    judges.push(() => [
      ...complaints.filter((each) => !forgiven.some((what) => what.test(each))),
      ...requests.filter((each) => !OWN.test(each)),
    ]);
    await page.goto(url);
    return { page, context, requests, forgive: (what) => void forgiven.push(what) };
  };

  return {
    browser: theBrowser,
    async open(url, options = {}) {
      const context = await theBrowser().newContext({
        viewport: { width: 1440, height: 900 },
        colorScheme: 'dark',
        ...options,
      });
      contexts.push(context);
      context.setDefaultTimeout(PATIENCE_MS);
      await context.addInitScript(CANARIES);
      return watched(context, url);
    },
    beside: (tab, url) => watched(tab.context, url),
  };
}
