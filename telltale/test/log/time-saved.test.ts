import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createWorkedTime } from '../../src/cli/view/action-log.ts';
import type { SessionEvent } from '../../src/log/event.ts';
import { createTimeSaved, timeSavedText } from '../../src/log/time-saved.ts';
import {
  actionStarted,
  BEGAN,
  completed,
  declared,
  eventList,
  SHORT_RUN,
  started,
  type Timed,
  turnCompleted,
  turnStarted,
} from '../cli/event-list.ts';

function foldOf(events: readonly SessionEvent[]) {
  const fold = createTimeSaved();
  for (const event of events) fold.add(event);
  return fold;
}
const eventsOf = (timed: readonly Timed[]) => eventList([[0, started()], [0, turnStarted], ...timed]);
const saved = (timed: readonly Timed[]) => foldOf(eventsOf(timed)).at();

/** An action that started at once. */
const deed = (id: string, at: number, ms: number, changes = {}): readonly Timed[] => [
  [at, declared(id, changes)],
  [at, actionStarted(id)],
  [at + ms, completed(id, ms)],
];
const inOrder = (timed: readonly Timed[]) => timed.toSorted((a, b) => a[0] - b[0]);

describe('the time saved by starting actions early', () => {
  it('is what an action did before the response ended', () => {
    expect(foldOf(SHORT_RUN).at()).toEqual({ early: 1, savedMs: 699 });
  });

  it('is the example of the design: 4 s of stream and a tool of 1 s that closes at 0.8 s', () => {
    expect(saved(inOrder([...deed('a', 800, 1000), [4000, turnCompleted(4000)]]))).toEqual({
      early: 1,
      savedMs: 1000,
    });
  });

  it('is nothing for a turn that was cut off: nobody knows when the model would have ended', () => {
    const error = { code: 'limit_wall', message: 'Its time is up.', retryable: false };
    const failed = inOrder([...deed('a', 10, 390), [400, { type: 'turn.failed', error }]]);
    expect(saved(failed)).toEqual({ early: 0, savedMs: 0 });
    const gone = inOrder([...deed('a', 10, 390), [9000, { type: 'session.resumed', by: 'user' }]]);
    expect(saved([...gone, [9001, turnCompleted(9001)]])).toEqual({ early: 0, savedMs: 0 });
  });

  it('is that of the longest where actions ran side by side', () => {
    const events = inOrder([...deed('a', 100, 900), ...deed('b', 200, 300), [2000, turnCompleted(2000)]]);
    expect(saved(events)).toEqual({ early: 2, savedMs: 900 });
  });

  it('is the whole length of a chain', () => {
    const events = inOrder([
      ...deed('a', 100, 500),
      [150, declared('b', { depends_on: ['a'] })],
      [600, actionStarted('b')],
      [1100, completed('b', 500)],
      [2000, turnCompleted(2000)],
    ]);
    expect(saved(events)).toEqual({ early: 2, savedMs: 1000 });
  });

  it('knows what an action waited for that names it by a variable only', () => {
    const events = inOrder([
      ...deed('a', 100, 500),
      [150, declared('b', { parameters: { text: '$a' } })],
      [600, actionStarted('b')],
      [1100, completed('b', 500)],
      [2000, turnCompleted(2000)],
    ]);
    expect(saved(events).savedMs).toBe(1000);
  });

  it('keeps what stands behind a sync action behind it', () => {
    const events = inOrder([
      ...deed('a', 100, 500, { mode: 'sync' }),
      ...deed('b', 600, 500),
      [2000, turnCompleted(2000)],
    ]);
    expect(saved(events).savedMs).toBe(1000);
  });

  it('is nothing for actions that start when the response has ended, and for those nobody waits for', () => {
    expect(saved(inOrder([[1000, turnCompleted(1000)], ...deed('a', 1000, 500)]))).toEqual({
      early: 0,
      savedMs: 0,
    });
    for (const mode of ['fire_and_forget', 'background'])
      expect(saved(inOrder([...deed('a', 100, 500, { mode }), [1000, turnCompleted(1000)]])).savedMs).toBe(0);
  });

  it('does not count what still ran when the next turn began', () => {
    const events = inOrder([
      ...deed('a', 100, 5000),
      [1000, turnCompleted(1000)],
      [1001, turnStarted],
      [2000, turnCompleted(999)],
    ]);
    expect(saved(events).savedMs).toBe(0);
  });

  it('is nothing where the difference is only noise of the machine', () => {
    expect(saved(inOrder([...deed('a', 951, 49), [1000, turnCompleted(1000)]])).savedMs).toBe(0);
    expect(saved(inOrder([...deed('a', 950, 50), [1000, turnCompleted(1000)]])).savedMs).toBe(50);
  });

  it('is told at any event as for a log that ends there, never negative, and never more than all actions took', () => {
    const times = fc.record({ at: fc.nat(3000), waits: fc.nat(500), ms: fc.nat(2000), isSync: fc.boolean() });
    const turn = fc.record({ actions: fc.array(times, { maxLength: 6 }), streamMs: fc.nat(3000) });
    fc.assert(
      fc.property(fc.array(turn, { minLength: 1, maxLength: 3 }), fc.nat(60), (turns, seq) => {
        const timed = turns.flatMap(({ actions, streamMs }, nth): readonly Timed[] => {
          const from = nth * 4000;
          return [
            [from, turnStarted],
            ...actions.flatMap(({ at, waits, ms, isSync }, index): readonly Timed[] => [
              [from + at, declared(`a${nth}.${index}`, isSync ? { mode: 'sync' } : {})],
              [from + at + waits, actionStarted(`a${nth}.${index}`)],
              [from + at + waits + ms, completed(`a${nth}.${index}`, ms)],
            ]),
            [from + streamMs, turnCompleted(streamMs)],
          ];
        });
        const events = eventList(inOrder([[0, started()], ...timed]));
        const whole = foldOf(events);
        expect(whole.at(seq)).toEqual(foldOf(events.slice(0, seq)).at());
        const total = turns.flatMap(({ actions }) => actions).reduce((sum, { ms }) => sum + ms, 0);
        expect(whole.at().savedMs).toBeGreaterThanOrEqual(0);
        expect(whole.at().savedMs).toBeLessThanOrEqual(total);
      }),
    );
  });

  it('is one sentence, and none where nothing was saved', () => {
    expect(timeSavedText({ early: 2, savedMs: 1000 })).toBe(
      'Starting 2 actions before the response ended saved 1.0 s.',
    );
    expect(timeSavedText({ early: 1, savedMs: 320 })).toBe(
      'Starting 1 action before the response ended saved 320 ms.',
    );
    expect(timeSavedText({ early: 3, savedMs: 0 })).toBeUndefined();
  });
});

describe('the time in which a session was worked on', () => {
  const worked = (timed: readonly Timed[], leftAt?: number) => {
    const fold = createWorkedTime();
    for (const event of eventList(timed)) fold.add(event);
    return fold.result(leftAt);
  };

  it('leaves out the time in which nobody worked on the session, and that of a person', () => {
    const events: readonly Timed[] = [
      [0, started()],
      [0, turnStarted],
      [100, declared('a')],
      [100, actionStarted('a')],
      [90_000, { type: 'session.resumed', by: 'user' }],
      [90_000, { type: 'action.interrupted', id: 'a', attempt: 1 }],
      [90_100, turnStarted],
      [90_200, turnCompleted(100)],
      [90_200, { type: 'session.waiting', for: 'review' }],
      [190_200, turnStarted],
      [190_300, turnCompleted(100)],
    ];
    expect(worked(events)).toBe(400);
    expect(worked([])).toBe(0);
  });

  it('ends when the session was released, where nothing was written since, unless it waited', () => {
    const began: Timed = [0, started()];
    expect(worked([began, [17, turnStarted]], BEGAN + 2700)).toBe(2700);
    expect(worked([began, [17, { type: 'session.waiting', for: 'message' }]], BEGAN + 2700)).toBe(17);
  });
});
