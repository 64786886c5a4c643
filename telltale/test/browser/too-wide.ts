import type { Page } from 'playwright-core';
import { inPage } from './in-page.ts';

/** What a page leaves free at its right edge. */
const MARGIN_PX = 8;

const reachingOut = inPage<number, readonly string[]>(`(margin) => {
  const main = document.getElementById('main');
  const edge = main.getBoundingClientRect().left + main.clientWidth - margin;
  const isInScroller = (element) => {
    for (let at = element.parentElement; at !== null && at !== main; at = at.parentElement)
      if (getComputedStyle(at).overflowX !== 'visible' && at.getBoundingClientRect().right <= edge) return true;
    return false;
  };
  return [...main.querySelectorAll(':scope > * *')]
    .filter((element) => element.getClientRects().length > 0 && element.getBoundingClientRect().right > edge)
    .filter((element) => !isInScroller(element))
    .slice(0, 3)
    .map((element) => element.outerHTML.slice(0, 120));
}`);

/**
 * What reaches into a page's right margin, the first few. The window itself never scrolls sideways: `main` does, or cuts
 * it off. What scrolls by itself may be as wide as it likes inside.
 */
export const tooWide = (page: Page): Promise<readonly string[]> => page.evaluate(reachingOut, MARGIN_PX);
