import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createProgress } from '../launch/progress.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function recorded(isTTY: boolean) {
  const written: string[] = [];
  return { written, progress: createProgress({ isTTY, columns: 20, write: (text) => written.push(text) }) };
}

test('without a terminal a line comes at least every five seconds', () => {
  const { written, progress } = recorded(false);
  progress.start('building');
  vi.advanceTimersByTime(9_000);
  progress.end('✓ built');
  vi.advanceTimersByTime(9_000);
  expect(written).toEqual(['… building (4 s)\n', '… building (8 s)\n', '✓ built\n']);
});

test('on a terminal what is over at once leaves no trace', () => {
  const { written, progress } = recorded(true);
  progress.start('building');
  vi.advanceTimersByTime(200);
  progress.end();
  expect(written).toEqual([]);
});

test('on a terminal one line is drawn over and over, no wider than the terminal', () => {
  const { written, progress } = recorded(true);
  progress.start('a text that is wider than the terminal');
  vi.advanceTimersByTime(1_000);
  progress.end('✓ done');
  expect(written.length).toBeGreaterThan(5);
  expect(written.slice(0, -1).every((text) => text.startsWith('\r\x1b[2K') && text.length <= 24)).toBe(true);
  expect(written.slice(-2)).toEqual(['\r\x1b[2K', '✓ done\n']);
});
