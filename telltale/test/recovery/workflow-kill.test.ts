import { beforeAll, describe, expect, it } from 'vitest';
import { crashWorkflowAt, killWorkflowsUntil, undisturbedOutput } from './workflow-kill-run.ts';

const KILLS = 20;
const SEED = 1;
const TIMEOUT_MS = 300_000;

/** Between what was done and what says so, where a kill that is drawn by chance hardly ever comes. */
const POINTS: readonly (readonly [point: string, nth: number])[] = [
  ['append:step.completed', 2],
  ['append:timer.fired', 6],
  ['committed:workflow.waiting', 1],
  ['committed:workflow.completed', 1],
];
const SIDE_BY_SIDE = 2;

describe('kill -9 of a workflow', () => {
  let undisturbed: unknown;
  beforeAll(async () => {
    undisturbed = await undisturbedOutput();
  }, TIMEOUT_MS);

  it(
    'is survived between an effect and its record, when a wait fires, while it is let go of and before its caller hears of its end',
    async () => {
      const left = [...POINTS];
      const worker = async () => {
        for (let next = left.shift(); next !== undefined; next = left.shift())
          await crashWorkflowAt(...next, undisturbed);
      };
      await Promise.all(Array.from({ length: SIDE_BY_SIDE }, worker));
    },
    TIMEOUT_MS,
  );

  it(
    `is a normal way to stop: ${KILLS} of them, and no completed step is done again, no wait fires twice`,
    async () => {
      const runs = await killWorkflowsUntil({ seed: SEED, kills: KILLS, sideBySide: 2 }, undisturbed);
      expect(runs.reduce((sum, { kills }) => sum + kills, 0)).toBeGreaterThanOrEqual(KILLS);
    },
    TIMEOUT_MS,
  );
});
