import { describe, expect, it } from 'vitest';
import { killWorkflowsUntil } from './workflow-kill-run.ts';

const KILLS = 20;
const SEED = 1;
const TIMEOUT_MS = 300_000;

describe('kill -9 of a workflow', () => {
  it(
    `is a normal way to stop: ${KILLS} of them, and no completed step is done again, no wait fires twice`,
    async () => {
      const runs = await killWorkflowsUntil({ seed: SEED, kills: KILLS, sideBySide: 2 });
      expect(runs.reduce((sum, { kills }) => sum + kills, 0)).toBeGreaterThanOrEqual(KILLS);
    },
    TIMEOUT_MS,
  );
});
