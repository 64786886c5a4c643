import type { Page } from 'playwright-core';

export interface LoadFigures {
  readonly firstPaintMs: number;
  /** What the browser spent on the page's scripts, and on the page as a whole. */
  readonly scriptMs: number;
  readonly taskMs: number;
  /** JavaScript as it came over the line, packed. */
  readonly scriptKb: number;
  /** The console's own files. */
  readonly assets: readonly Asset[];
}

export interface Asset {
  readonly url: string;
  readonly encoding: string;
  readonly cache: string;
  /** As it came, its head included. */
  readonly bytes: number;
}

/** A first visit of a page, until what `shown` waits for is there. The page must be a new one: nothing is cached in it. */
export async function loadFigures(page: Page, url: string, shown: () => Promise<void>): Promise<LoadFigures> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Performance.enable');
  await devtools.send('Network.enable');
  const heads = new Map<string, Omit<Asset, 'bytes'>>();
  const assets: Asset[] = [];
  let scriptBytes = 0;
  devtools.on('Network.responseReceived', ({ requestId, type, response }) => {
    const header = (name: string) =>
      Object.entries(response.headers).find(([key]) => key.toLowerCase() === name)?.[1] ?? '';
    if (type !== 'Script' && type !== 'Stylesheet') return;
    const { url: from } = response;
    heads.set(requestId, { url: from, encoding: header('content-encoding'), cache: header('cache-control') });
  });
  devtools.on('Network.loadingFinished', ({ requestId, encodedDataLength: bytes }) => {
    const head = heads.get(requestId);
    if (head === undefined) return;
    assets.push({ ...head, bytes });
    if (head.url.endsWith('.js')) scriptBytes += bytes;
  });
  await page.goto(url);
  await shown();
  const { metrics } = await devtools.send('Performance.getMetrics');
  const seconds = (name: string) => metrics.find((metric) => metric.name === name)?.value ?? 0;
  const firstPaintMs = await page.evaluate<number>(
    `performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN`,
  );
  await devtools.detach();
  return {
    firstPaintMs,
    scriptMs: seconds('ScriptDuration') * 1_000,
    taskMs: seconds('TaskDuration') * 1_000,
    scriptKb: scriptBytes / 1_000,
    assets,
  };
}

export const loadText = ({ firstPaintMs, scriptMs, taskMs, scriptKb }: LoadFigures): string =>
  `console: first paint ${Math.round(firstPaintMs)} ms, script ${Math.round(scriptMs)} ms (of ${Math.round(taskMs)} ms), ${scriptKb.toFixed(0)} kB`;
