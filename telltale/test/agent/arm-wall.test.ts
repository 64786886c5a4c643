import { describe, expect, it } from 'vitest';
import { armWall } from '../../src/agent/limits.ts';
import { createStop } from '../../src/agent/stop.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { emptyState } from '../../src/log/state.ts';

const WALL_MS = 10_000;

function stage() {
  const clock = createSimulatedClock();
  const stop = createStop();
  const state = { ...emptyState(), startedAt: clock.now(), at: clock.now() };
  const limits = { turns: 10, wall: { ms: WALL_MS, text: '10s' } } as never;
  const arm = () => armWall({ state, clock, stop, manifest: { limits } });
  const failedWith = () => (stop.reason?.kind === 'fail' ? stop.reason.error.code : undefined);
  return { clock, state, arm, failedWith };
}

describe('the wall time of a session', () => {
  it('ends it to the millisecond, and not before', async () => {
    const { clock, arm, failedWith } = stage();
    arm();
    await clock.advance(WALL_MS - 1);
    expect(failedWith()).toBeUndefined();
    await clock.advance(1);
    expect(failedWith()).toBe('limit_wall');
  });

  it('that is over when the session is taken up again ends it at once', async () => {
    const { clock, arm, failedWith } = stage();
    await clock.advance(2 * WALL_MS);
    arm();
    await clock.advance(0);
    expect(failedWith()).toBe('limit_wall');
  });

  it('stands still while all of it waits for a person, and what was left then is left after that', async () => {
    const { clock, state, arm, failedWith } = stage();
    arm();
    await clock.advance(4_000);
    state.at = clock.now();
    state.status = 'waiting';
    await clock.advance(3_600_123);
    expect(failedWith()).toBeUndefined();
    state.status = 'running';
    state.downMs += clock.now() - state.at;
    await clock.advance(5_999);
    expect(failedWith()).toBeUndefined();
    await clock.advance(1);
    expect(failedWith()).toBe('limit_wall');
  });

  it('of a session that is taken up while it waits is what was left when it began to', async () => {
    const { clock, state, arm, failedWith } = stage();
    await clock.advance(4_000);
    state.at = clock.now();
    state.status = 'waiting';
    await clock.advance(3_600_123);
    arm();
    await clock.advance(500);
    state.status = 'running';
    state.downMs += clock.now() - state.at;
    await clock.advance(5_999);
    expect(failedWith()).toBeUndefined();
    await clock.advance(1);
    expect(failedWith()).toBe('limit_wall');
  });

  it.each(['waits for a person', 'undoes what it has done'])(
    'is looked at once a second, no more often, where it is over and the session %s',
    async (what) => {
      const { clock, state, arm, failedWith } = stage();
      arm();
      await clock.advance(WALL_MS - 1);
      state.at = clock.now();
      if (what === 'waits for a person') state.status = 'waiting';
      else state.failing = 'a';
      let looked = 0;
      const { after } = clock;
      clock.after = (delayMs, then) =>
        after(delayMs, () => {
          looked++;
          then();
        });
      await clock.advance(10_001);
      expect(looked).toBe(10);
      expect(failedWith()).toBeUndefined();
    },
  );

  it('does not end a session that undoes what it has done before it fails by itself', async () => {
    const { clock, state, arm, failedWith } = stage();
    arm();
    state.failing = 'a';
    await clock.advance(6 * WALL_MS);
    expect(failedWith()).toBeUndefined();
    delete state.failing;
    await clock.advance(1_000);
    expect(failedWith()).toBe('limit_wall');
  });

  it('does nothing any more once it is disarmed, however often it was set anew', async () => {
    const { clock, state, arm, failedWith } = stage();
    const disarm = arm();
    state.downMs = 5_000;
    await clock.advance(WALL_MS);
    disarm();
    expect(clock.pending).toBe(0);
    expect(failedWith()).toBeUndefined();
  });
});
