import type { Page } from 'playwright-core';

export interface Smoothness {
  /** Tasks that kept the page from answering for more than 50 ms: how many, and the longest. */
  readonly longTasks: number;
  readonly longestMs: number;
  /** Between two frames. */
  readonly p95FrameMs: number;
}

const WATCH = `(() => {
  const seen = { long: [], frames: [] };
  new PerformanceObserver((list) => seen.long.push(...list.getEntries().map(({ duration }) => duration)))
    .observe({ type: 'longtask' });
  let before = performance.now();
  const frame = (now) => {
    seen.frames.push(now - before);
    before = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  window.smoothness = seen;
})()`;

const READ = `(() => {
  const { long, frames } = window.smoothness;
  const sorted = frames.toSorted((a, b) => a - b);
  const taken = {
    longTasks: long.length,
    longestMs: Math.round(Math.max(0, ...long)),
    p95FrameMs: Math.round(sorted[Math.floor(sorted.length * 0.95)] ?? 0),
  };
  long.length = 0;
  frames.length = 0;
  return taken;
})()`;

/** Measures how well a page keeps up; each reading tells of the time since the one before. */
export async function watchSmoothness(page: Page): Promise<() => Promise<Smoothness>> {
  await page.evaluate(WATCH);
  return () => page.evaluate<Smoothness>(READ);
}

export const smoothnessText = ({ longTasks, longestMs, p95FrameMs }: Smoothness): string =>
  `${longTasks} long tasks, the longest ${longestMs} ms; 95 % of frames within ${p95FrameMs} ms`;
