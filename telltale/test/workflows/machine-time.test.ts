import { describe, expect, it } from 'vitest';
import { createSimulatedClock } from '../../src/kernel/simulated-clock.ts';
import { createStage, step, untilAborted } from './machine-stage.ts';

describe('a time-out', () => {
  it('of a step with steps inside is its failure, also where the clock of the machine is set back meanwhile', async () => {
    const time = createSimulatedClock();
    let setBackMs = 0;
    const clock = { ...time, now: () => time.now() - setBackMs };
    const stage = createStage(
      [
        step('all', {
          type: 'parallel',
          branches: [[step('slow')]],
          timeout: { ms: 5_000 },
          on_error: 'continue',
        }),
        step('after'),
      ],
      { steps: { slow: untilAborted } },
    );
    const end = stage.run({ clock });
    await clock.advance(1_000);
    setBackMs = 60_000;
    await clock.advance(4_000);
    expect(await end).toEqual({ kind: 'completed', output: 'after' });
    expect(stage.short()).toEqual([
      'started all',
      'started all/slow',
      'cancelled all/slow',
      'failed all timeout',
      'started after',
      'completed after',
    ]);
  });
});
