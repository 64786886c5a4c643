import { beforeAll, describe, expect, it } from 'vitest';
import { survivesCrash, undisturbedRun } from './crash-run.ts';
import type { Life } from './victim-process.ts';

const SIDE_BY_SIDE = 3;
const TIMEOUT_MS = 300_000;

/** Points whose later passings are worth a kill of their own. */
const LATER: readonly (readonly [string, number])[] = [
  ['committed:turn.started', 2],
  ['committed:turn.completed', 3],
  ['append:turn.completed', 3],
  ['committed:response', 2],
  ['append:response', 2],
  ['committed:text', 2],
  ['committed:action.started', 9],
  ['committed:action.completed', 8],
  ['committed:model.output', 18],
  ['perform:f', 2],
];

describe('a process that kills itself between two steps of the runtime', () => {
  let undisturbed: Life;
  beforeAll(async () => {
    undisturbed = await undisturbedRun();
  }, TIMEOUT_MS);

  it(
    'is survived at every point: nothing is lost, nothing is done twice',
    async () => {
      const points = [...new Set(undisturbed.points)];
      expect(points.length).toBeGreaterThan(60);
      const left = [...points.map((point) => [point, 1] as const), ...LATER];
      const wrong: string[] = [];
      const worker = async () => {
        for (let next = left.shift(); next !== undefined; next = left.shift()) {
          const [point, nth] = next;
          const why = await survivesCrash(point, nth, undisturbed);
          if (why !== undefined) wrong.push(`${point}, time ${nth}: ${why}`);
        }
      };
      await Promise.all(Array.from({ length: SIDE_BY_SIDE }, worker));
      expect(wrong).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
