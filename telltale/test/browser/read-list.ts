import type { Locator } from 'playwright-core';
import { inPage } from './in-page.ts';

type Rows = readonly (readonly string[])[];

/**
 * Only what is in view is in the document. Scrolls the element around a list from its start to its end, and gives the text
 * of all rows, cell by cell, each row once, in the order in which they stand.
 */
const READ = inPage<unknown, Promise<Rows>>(`async (list) => {
  let scroller = list;
  while (!['auto', 'scroll'].includes(getComputedStyle(scroller).overflowY)) scroller = scroller.parentElement;
  const frame = () => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
  const rows = new Map();
  scroller.scrollTop = 0;
  for (;;) {
    await frame();
    for (const row of list.querySelectorAll(':scope > li, :scope > [role=option]')) {
      const top = Math.round(row.getBoundingClientRect().top - list.getBoundingClientRect().top);
      const inside = row.firstElementChild;
      const cells = inside?.tagName === 'BUTTON' ? [...inside.children].map((cell) => cell.textContent) : [];
      rows.set(top, cells.length > 0 ? cells : [row.textContent]);
    }
    const end = scroller.scrollHeight - scroller.clientHeight;
    if (scroller.scrollTop >= end - 1) break;
    scroller.scrollTop = Math.min(end, scroller.scrollTop + scroller.clientHeight);
  }
  return [...rows].sort(([a], [b]) => a - b).map(([, row]) => row);
}`);

export async function readList(list: Locator): Promise<Rows> {
  await list.page().bringToFront(); // a tab behind another one draws nothing
  return list.evaluate(READ);
}
