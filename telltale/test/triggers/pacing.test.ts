import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matches } from '../../src/expressions/maps/conditions.ts';
import { parseConditions } from '../../src/expressions/maps/parse-conditions.ts';
import type { Timer } from '../../src/log/state.ts';
import { emptyState, type SessionState } from '../../src/log/state.ts';
import { workflow } from '../../src/manifest/schema/workflow.ts';
import { compileTriggers, withoutChange } from '../../src/triggers/compile-triggers.ts';
import { outsideTriggers } from '../../src/triggers/outside-triggers.ts';
import {
  MAX_CHAIN,
  MAX_WAITING,
  type Pacing,
  type PacingAttempt,
  pace,
  type Stage,
  timerId,
  waitingData,
} from '../../src/triggers/pacing.ts';
import { moreRuns } from '../more-runs.ts';
import { conditionMap, fields } from './arbitrary-conditions.ts';

const STILL: Pacing = { isOnce: false, dropsOnExit: false, debounceMs: 0, cooldownMs: 0, delayMs: 0 };
const run = (n: number): SessionState['runs'][number] => ({
  run: `run_${n}`,
  workflow: 'w',
  trigger: 'w#0',
  seq: n,
  depth: 1,
  seen: {},
  chain: ['w'],
});
const waits = (stage: Stage, which: string, due: number): Timer => ({
  id: timerId('w#0', which),
  due,
  data: waitingData({ trigger: 'w#0', stage, as: 'enter', seen: {}, chain: ['w'] }),
  cause: { stream: 's', seq: 1, depth: 0 },
});

const paceOf = (
  pacing: Partial<Pacing>,
  {
    holds = true,
    isEnding = false,
    cancelled = [],
    state = {},
    ...attempt
  }: Partial<PacingAttempt> & {
    readonly holds?: boolean;
    readonly isEnding?: boolean;
    readonly cancelled?: readonly string[];
    readonly state?: Partial<SessionState>;
  } = {},
) =>
  pace(
    { id: 'w#0', workflow: 'w', pacing: { ...STILL, ...pacing } },
    { stage: 'begun', chain: ['w'], seq: 7, ...attempt },
    {
      now: 1_000,
      state: { ...emptyState(), ...state },
      isEnding,
      cancelled: new Set(cancelled),
      holds: () => holds,
    },
  );

describe('pacing', () => {
  it('a trigger that says nothing of its pace fires', () => {
    expect(paceOf({})).toEqual({ kind: 'fire' });
  });

  it('goes from quiet over the cooldown to the delay, and from there to the room', () => {
    const all: Partial<Pacing> = { debounceMs: 10, cooldownMs: 100, delayMs: 50 };
    expect(paceOf(all)).toEqual({ kind: 'wait', stage: 'quiet', id: 'trigger:w#0', due: 1_010 });
    expect(paceOf(all, { stage: 'quiet' })).toEqual({
      kind: 'wait',
      stage: 'later',
      id: 'trigger:w#0/later:7',
      due: 1_050,
    });
    const fired = { triggers: [{ trigger: 'w#0', times: 1, at: 951 }] };
    expect(paceOf(all, { stage: 'quiet', state: fired })).toMatchObject({ reason: 'cooldown' });
    const long = { triggers: [{ trigger: 'w#0', times: 1, at: 950 }] };
    expect(paceOf(all, { stage: 'quiet', state: long })).toMatchObject({ kind: 'wait', stage: 'later' });
    expect(paceOf(all, { stage: 'later', state: fired })).toEqual({ kind: 'fire' });
    expect(paceOf(all, { isEnding: true })).toEqual({ kind: 'fire' });
  });

  it('what an artifact said of a trigger is no firing of it', () => {
    const asked = { triggers: [{ trigger: 'w#0', times: 0, at: 0, held: true }] };
    expect(paceOf({ isOnce: true, cooldownMs: 5_000 }, { state: asked })).toEqual({ kind: 'fire' });
  });

  it('once is spent by a firing that is sure to come, not by one that waits for quiet', () => {
    expect(paceOf({ isOnce: true }, { state: { timers: [waits('later', 'later:1', 2_000)] } })).toEqual({
      kind: 'drop',
    });
    const quiet = { ...waits('quiet', '', 2_000), id: timerId('w#0') };
    expect(paceOf({ isOnce: true }, { state: { timers: [quiet] } })).toEqual({ kind: 'fire' });
  });

  it('firings of another trigger that wait are none of its business', () => {
    const other = { ...waits('later', 'later:1', 2_000), id: timerId('w#01', 'later:1') };
    expect(paceOf({ isOnce: true }, { state: { timers: [other] } })).toEqual({ kind: 'fire' });
  });

  it('after quiet the condition has to hold; after a delay only where its exit cancels', () => {
    expect(paceOf({ debounceMs: 10 }, { stage: 'quiet', holds: false })).toMatchObject({ reason: 'over' });
    expect(paceOf({ delayMs: 10 }, { stage: 'later', holds: false })).toEqual({ kind: 'fire' });
    for (const stage of ['later', 'queued'] as const)
      expect(paceOf({ dropsOnExit: true }, { stage, holds: false })).toMatchObject({ reason: 'over' });
  });

  it('a chain of eight fires and one of nine does not', () => {
    const chain = Array<string>(MAX_CHAIN).fill('w');
    expect(paceOf({}, { chain })).toEqual({ kind: 'fire' });
    expect(paceOf({}, { chain: [...chain, 'z'] })).toMatchObject({
      reason: 'depth',
      message: expect.stringMatching(/w → z\.$/),
    });
  });

  it('replace cancels no more runs than make room', () => {
    const concurrency = { max: 2, whenBusy: 'replace' } as const;
    const state = { runs: [run(1), run(2)] };
    expect(paceOf({ concurrency }, { state })).toMatchObject({ kind: 'replace', run: 'run_1' });
    expect(paceOf({ concurrency }, { state, cancelled: ['run_1'] })).toMatchObject({
      kind: 'replace',
      run: undefined,
    });
    expect(paceOf({ concurrency }, { state: { runs: [run(1)] } })).toEqual({ kind: 'fire' });
  });

  it('what was delayed needs room when its time has come; what had its turn needs none', () => {
    const concurrency = { max: 1, whenBusy: 'skip' } as const;
    const state = { runs: [run(1)] };
    expect(paceOf({ concurrency }, { stage: 'later', state })).toMatchObject({ reason: 'busy' });
    expect(paceOf({ concurrency }, { stage: 'queued', state, holds: false })).toEqual({ kind: 'fire' });
  });

  it('runs of other workflows take no room', () => {
    const concurrency = { max: 1, whenBusy: 'skip' } as const;
    const other = { ...run(1), workflow: 'another' };
    expect(paceOf({ concurrency }, { state: { runs: [other] } })).toEqual({ kind: 'fire' });
    expect(paceOf({ concurrency }, { state: { runs: [other, run(2)] } })).toMatchObject({
      message: '"w" has 1 run under way (run_2), and the trigger allows 1.',
    });
    const more = { runs: [run(1), run(2)] };
    expect(paceOf({ concurrency: { max: 2, whenBusy: 'skip' } }, { state: more })).toMatchObject({
      message: '"w" has 2 runs under way (run_1, run_2), and the trigger allows 2.',
    });
  });

  it('at the end of a session nothing can wait for its turn, nor take that of another', () => {
    for (const whenBusy of ['skip', 'queue', 'replace'] as const)
      expect(
        paceOf({ concurrency: { max: 1, whenBusy } }, { isEnding: true, state: { runs: [run(1)] } }),
      ).toMatchObject({ kind: 'suppress', reason: 'busy', message: expect.stringMatching(/at its end/) });
  });

  it('a cooldown counts from the last firing there was or will be, and says which', () => {
    const cooled = (state: Partial<SessionState>) => {
      const found = paceOf({ cooldownMs: 5_000 }, { state });
      return found.kind === 'suppress' ? found.message : found.kind;
    };
    const fired = { triggers: [{ trigger: 'w#0', times: 1, at: 400 }] };
    const queued = {
      ...waits('queued', 'queued:1', 9_999),
      data: waitingData({ trigger: 'w#0', stage: 'queued', as: 'enter', seen: {}, chain: ['w'], since: 700 }),
    };
    const its = '; its cooldown is 5 s.';
    expect(cooled(fired)).toBe(`"w#0" fired 600 ms ago${its}`);
    expect(cooled({ ...fired, timers: [queued] })).toBe(`"w#0" has waited for its turn for 300 ms${its}`);
    expect(cooled({ ...fired, timers: [waits('later', 'later:1', 4_000), queued] })).toBe(
      `"w#0" is to fire in 3 s${its}`,
    );
    expect(cooled({ triggers: [{ trigger: 'w#1', times: 1, at: 900 }] })).toBe('fire');
    const quiet = { ...waits('quiet', '', 2_000), id: timerId('w#0') };
    expect(cooled({ timers: [quiet] })).toBe('fire');
  });

  it('a cooldown does not last for as long as the clock of the machine was set back', () => {
    const firedAt = (at: number) => ({ triggers: [{ trigger: 'w#0', times: 1, at }] });
    const queuedAt = (since: number) => ({
      ...waits('queued', 'queued:1', 9_999),
      data: waitingData({ trigger: 'w#0', stage: 'queued', as: 'enter', seen: {}, chain: ['w'], since }),
    });
    const paced = (state: Partial<SessionState>, delayMs = 0) =>
      paceOf({ cooldownMs: 5_000, delayMs }, { state }).kind;
    expect(paced(firedAt(5_999))).toBe('suppress'); // another machine's clock is a little ahead
    expect(paced(firedAt(6_000))).toBe('fire');
    expect(paced({ timers: [queuedAt(90_000_000)] })).toBe('fire');
    expect(paced({ timers: [waits('later', 'later:1', 90_000_000)] })).toBe('suppress'); // it is yet to come
    expect(paced({ ...firedAt(90_000_000), timers: [queuedAt(900)] })).toBe('suppress');
  });

  it('a thousand may wait, and one more is told that it cannot', () => {
    const timers = Array.from({ length: MAX_WAITING }, (_, n) => waits('queued', `queued:${n}`, 9_999));
    const queue = { concurrency: { max: 1, whenBusy: 'queue' } } as const;
    expect(paceOf(queue, { state: { runs: [run(1)], timers } })).toMatchObject({
      kind: 'suppress',
      reason: 'busy',
    });
    expect(paceOf({ delayMs: 5 }, { state: { timers } })).toMatchObject({ kind: 'suppress', reason: 'busy' });
  });

  it('a condition without its changes holds wherever some change would have made it hold', () => {
    fc.assert(
      fc.property(conditionMap, fc.boolean(), fields, fields, (map, matchAll, current, previous) => {
        const parsed = parseConditions(map, { matchAll });
        if (!parsed.ok || !matches(parsed.value, { current, previous })) return;
        expect(matches(withoutChange(parsed.value), { current, previous: current })).toBe(true);
      }),
      { numRuns: moreRuns(1_000) },
    );
  });
});

describe('a condition without its changes', () => {
  const holds = (map: object, current: Readonly<Record<string, unknown>>) => {
    const parsed = parseConditions(map);
    if (!parsed.ok) throw new Error(parsed.error[0]?.message);
    return matches(withoutChange(parsed.value), { current, previous: current });
  };

  it('asks of a change only where it led to', () => {
    expect(holds({ a: { from: 1, to: 2 } }, { a: 2 })).toBe(true);
    expect(holds({ a: { from: 1, to: 2 } }, { a: 3 })).toBe(false);
    expect(holds({ a: { changed: true }, b: 1 }, { a: 1, b: 2 })).toBe(false);
  });

  it('asks nothing of a change that must not be', () => {
    expect(holds({ a: { not: { changed: true } } }, { a: 1 })).toBe(true);
    expect(holds({ not: { a: { to: 1 } } }, { a: 1 })).toBe(true);
    expect(holds({ not: { all: [{ a: { changed: true } }, { b: 1 }] } }, { a: 1, b: 1 })).toBe(true);
  });
});

describe('triggers from outside', () => {
  it('are listed for whoever starts them, and no session watches for them', () => {
    const manifest = workflow().parse({
      kind: 'Workflow',
      name: 'w',
      triggers: [
        { type: 'manual' },
        { type: 'schedule', cron: '0 3 * * *', timezone: 'Europe/Zurich' },
        { type: 'schedule', every: '10m' },
        { type: 'webhook', secret: 'x' },
        { type: 'event', event: 'custom' },
      ],
      steps: [{ name: 'tell', type: 'notify', message: 'hi' }],
    });
    expect(outsideTriggers([manifest])).toMatchObject([
      { id: 'w#0', type: 'manual' },
      { id: 'w#1', schedule: { cron: '0 3 * * *', timezone: 'Europe/Zurich' } },
      { id: 'w#2', schedule: { everyMs: 600_000 } },
      { id: 'w#3', hook: 'w', secret: 'x' },
    ]);
    expect(compileTriggers([manifest]).all.map(({ id }) => id)).toEqual(['w#4']);
  });
});
