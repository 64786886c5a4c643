import { describe, expect, it } from 'vitest';
import { killUntil } from './kill-run.ts';

const KILLS = 30;
const SEED = 1;
const TIMEOUT_MS = 300_000;

describe('kill -9', () => {
  it(
    `is a normal way to stop: ${KILLS} of them, and nothing is lost or done twice`,
    async () => {
      const runs = await killUntil({ seed: SEED, kills: KILLS, sideBySide: 2 });
      expect(runs.reduce((sum, { kills }) => sum + kills, 0)).toBeGreaterThanOrEqual(KILLS);
    },
    TIMEOUT_MS,
  );
});
