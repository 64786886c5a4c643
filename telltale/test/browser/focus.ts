import type { Page } from 'playwright-core';
import { expect } from 'vitest';

/** What has the focus, as a person perceives it. */
export interface Focused {
  /** Its label, or what it says. Empty where nothing has the focus. */
  readonly name: string;
  /** Whether it can be seen that it has it: an outline, and it lies in the window. */
  readonly isVisible: boolean;
  readonly isInDialog: boolean;
}

const READ = `(() => {
  const element = document.activeElement;
  if (element === null || element === document.body) return { name: '', isVisible: false, isInDialog: false };
  const labels = [...(element.labels ?? [])].map((label) => label.textContent);
  const name = element.getAttribute('aria-label') ?? (labels.join(' ') || element.textContent) ?? '';
  const { outlineStyle, outlineWidth } = getComputedStyle(element);
  const { top, bottom, left, right, width, height } = element.getBoundingClientRect();
  const isOutlined = outlineStyle !== 'none' && Number.parseFloat(outlineWidth) > 0;
  const isInWindow = width > 0 && height > 0 && bottom > 0 && right > 0 && top < innerHeight && left < innerWidth;
  return {
    name: name.replaceAll(/\\s+/g, ' ').trim(),
    isVisible: isOutlined && isInWindow,
    isInDialog: element.closest('dialog') !== null,
  };
})()`;

export const focused = (page: Page): Promise<Focused> => page.evaluate<Focused>(READ);

/** Stops of Tab that are tried, at the most. */
const MAX_STOPS = 120;

/** Presses Tab until the focus is on what goes by that name. Each stop on the way must be seen. Gives the names of all. */
export async function tabTo(page: Page, name: RegExp | string, key = 'Tab'): Promise<readonly string[]> {
  const stops: string[] = [];
  for (let pressed = 0; pressed < MAX_STOPS; pressed++) {
    await page.keyboard.press(key);
    const now = await focused(page);
    if (now.name === '') continue; // the browser's own frame
    expect(now, `the focus on "${now.name}" is not seen`).toMatchObject({ isVisible: true });
    stops.push(now.name);
    if (typeof name === 'string' ? now.name === name : name.test(now.name)) return stops;
  }
  return expect.unreachable(`${key} does not lead to ${name}: ${stops.join(' | ')}`);
}
