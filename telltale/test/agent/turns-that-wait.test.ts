import { describe, expect, it } from 'vitest';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { call, FINAL, lived, of } from './taken-up-stage.ts';

describe('a sync action that is observed', () => {
  it('has ended before the model is asked again, whatever it takes', async () => {
    const clock = createSimulatedClock();
    const turns: unknown[] = [];
    const { events } = await lived([call('a', 'slow', 'sync'), FINAL], {
      agent: { protocol: { on_sync: 'observe' } },
      isHeld: true,
      clock,
      async during(session, slow) {
        session.subscribe((event) => void (event.type === 'turn.started' && turns.push(event)));
        await expect.poll(() => slow.calls).toBe(1);
        await clock.advance(60_000);
        expect(turns).toHaveLength(1);
        slow.end();
      },
    });
    expect(of(events, 'turn.started', 'action.completed').map(({ type }) => type)).toEqual([
      'turn.started',
      'action.completed',
      'turn.started',
    ]);
  });
});

describe('a model that only waits', () => {
  /** How many turns have begun while an action takes a minute and the model has nothing to do but wait for it. */
  const asked = async (turns: readonly string[], say?: string) => {
    const clock = createSimulatedClock();
    let begun = 0;
    let meanwhile = 0;
    await lived(turns, {
      isHeld: true,
      clock,
      async during(session, slow) {
        session.subscribe((event) => {
          if (event.type === 'turn.started') begun++;
        });
        await expect.poll(() => slow.calls).toBe(1);
        for (let second = 0; second < 60; second++) await clock.advance(1_000);
        if (say !== undefined) await session.steer(say);
        await clock.advance(1_000);
        meanwhile = begun;
        slow.end();
      },
    });
    return meanwhile;
  };
  const WAITS = '<thought>I wait.</thought>';

  it('is not asked again before something has ended', async () => {
    expect(await asked([call('a', 'slow', 'background'), WAITS, FINAL])).toBe(2);
  });

  it('is asked again where somebody has a word for it', async () => {
    expect(await asked([call('a', 'slow', 'background'), WAITS, WAITS, FINAL], 'Hurry.')).toBe(3);
  });
});
