import { beforeAll, describe, expect, it } from 'vitest';
import { survivesCrash, undisturbedRun } from './crash-run.ts';
import type { Life } from './victim-process.ts';

const SIDE_BY_SIDE = 3;
const TIMEOUT_MS = 300_000;

/** Points whose later passings are worth a kill of their own. */
const LATER: readonly (readonly [string, number])[] = [
  ['committed:turn.completed', 3],
  ['append:response', 2],
  ['committed:text', 2],
  ['committed:action.completed', 8],
  ['committed:model.output', 18],
  ['perform:f', 2],
];

/**
 * Every point once. Of those that were first passed in one go, with nothing in between but the fold of an event, one
 * stands for all: a kill at any of them leaves the same. `npm run lab -- --points` takes them all, each time they come.
 */
function firstPassings(points: readonly string[]): readonly string[] {
  const known = new Set<string>();
  const chosen: string[] = [];
  let going = '';
  let taken = false;
  for (const point of points) {
    const kind = point.slice(0, point.indexOf(':'));
    if (kind !== going || kind.startsWith('perform')) taken = false;
    going = kind;
    if (known.has(point)) continue;
    known.add(point);
    if (!taken) chosen.push(point);
    taken = true;
  }
  return chosen;
}

describe('a process that kills itself between two steps of the runtime', () => {
  let undisturbed: Life;
  beforeAll(async () => {
    undisturbed = await undisturbedRun();
  }, TIMEOUT_MS);

  it(
    'is survived at every point: nothing is lost, nothing is done twice',
    async () => {
      expect(new Set(undisturbed.points).size).toBeGreaterThan(60);
      const points = firstPassings(undisturbed.points);
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
