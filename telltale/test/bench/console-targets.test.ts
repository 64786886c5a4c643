import { expect, it } from 'vitest';
import { judgeConsole, summarise } from '../../../bench/console/console-targets.ts';
import type { ConsoleFigures } from '../../../bench/console/measure-console.ts';

const load = { firstPaintMs: 300, scriptMs: 100, taskMs: 200, scriptKb: 250, assets: [] };

/** Just what the targets ask, in the best of three rounds; the others had company. */
const run = (slower: number): ConsoleFigures => ({
  events: 50_000,
  openMs: [9_000, 2_000 * slower, 4_000],
  openCpuMs: [9_000, 2_100 * slower, 4_000],
  stepMs: [
    [200, 300],
    [20, 50 * slower],
    [90, 90],
  ],
  stepCpuMs: [30, 30, 30],
  loads: [{ ...load, scriptKb: 250 * slower }],
});

it('the best round decides: company makes a page slower, and none quicker', () => {
  expect(judgeConsole(run(1)).every(({ met }) => met)).toBe(true);
  expect(judgeConsole(run(1.01)).map(({ met }) => met)).toEqual([false, false, false]);
});

it('what an opening takes of the processors counts where the machine was busy', () => {
  const busy = { ...run(1), openMs: [9_000], openCpuMs: [1_500] };
  expect(judgeConsole(busy)[0]).toMatchObject({ met: true, found: '1,500 ms' });
});

it('the table tells median, 95 % and best', () => {
  expect(summarise(run(1))[0]).toMatchObject({ median: 4_000, p95: 9_000, best: 2_000 });
});
