import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { overlapText } from '../../../src/cli/view/closing-lines.ts';
import { createOverlapFold, overlapOf } from '../../../src/cli/view/overlap.ts';
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
} from '../event-list.ts';

const overlap = (timed: readonly Timed[]) =>
  overlapOf(eventList([[0, started()], [0, turnStarted], ...timed]));

/** An action that started at once. */
const deed = (id: string, at: number, ms: number, changes = {}): readonly Timed[] => [
  [at, declared(id, changes)],
  [at, actionStarted(id)],
  [at + ms, completed(id, ms)],
];
const inOrder = (timed: readonly Timed[]) => timed.toSorted((a, b) => a[0] - b[0]);

describe('what early actions save', () => {
  it('is what an action did before the response ended', () => {
    expect(overlapOf(SHORT_RUN)).toEqual({ early: 1, leadMs: 699, actualMs: 1103, waitingMs: 1103 + 699 });
  });

  it('is the example of the design: 4 s of stream and a tool of 1 s that closes at 0.8 s', () => {
    const events = inOrder([...deed('a', 800, 1000), [4000, turnCompleted(4000)]]);
    expect(overlap(events)).toEqual({ early: 1, leadMs: 3200, actualMs: 4000, waitingMs: 5000 });
  });

  it('of a turn that was cut off is nothing: nobody knows when the model had ended it', () => {
    const error = { code: 'limit_wall', message: 'Its time is up.', retryable: false };
    const events = inOrder([...deed('a', 10, 390), [400, { type: 'turn.failed', error }]]);
    expect(overlap(events)).toMatchObject({ early: 0, leadMs: 0, actualMs: 400, waitingMs: 400 });
  });

  it('of actions side by side is that of the longest', () => {
    const events = inOrder([...deed('a', 100, 900), ...deed('b', 200, 300), [2000, turnCompleted(2000)]]);
    expect(overlap(events)).toMatchObject({ early: 2, leadMs: 1900, waitingMs: 2900 });
  });

  it('of a chain is its whole length', () => {
    const events = inOrder([
      ...deed('a', 100, 500),
      [150, declared('b', { depends_on: ['a'] })],
      [600, actionStarted('b')],
      [1100, completed('b', 500)],
      [2000, turnCompleted(2000)],
    ]);
    expect(overlap(events)).toMatchObject({ early: 2, actualMs: 2000, waitingMs: 3000 });
  });

  it('knows what an action waited for that names it by a variable only', () => {
    const events = inOrder([
      ...deed('a', 100, 500),
      [150, declared('b', { parameters: { text: '$a' } })],
      [600, actionStarted('b')],
      [1100, completed('b', 500)],
      [2000, turnCompleted(2000)],
    ]);
    expect(overlap(events).waitingMs).toBe(3000);
  });

  it('keeps what stands behind a sync action behind it', () => {
    const events = inOrder([
      ...deed('a', 100, 500, { mode: 'sync' }),
      ...deed('b', 600, 500),
      [2000, turnCompleted(2000)],
    ]);
    expect(overlap(events).waitingMs).toBe(3000);
  });

  it('is nothing for actions that start when the response has ended, and for those nobody waits for', () => {
    expect(overlap(inOrder([[1000, turnCompleted(1000)], ...deed('a', 1000, 500)]))).toMatchObject({
      early: 0,
      actualMs: 1500,
      waitingMs: 1500,
    });
    const forgotten = deed('a', 100, 500, { mode: 'fire_and_forget' });
    expect(overlap(inOrder([...forgotten, [1000, turnCompleted(1000)]])).waitingMs).toBe(1000);
  });

  it('does not count what still ran when the next turn began', () => {
    const events = inOrder([
      ...deed('a', 100, 5000),
      [1000, turnCompleted(1000)],
      [1001, turnStarted],
      [2000, turnCompleted(999)],
    ]);
    expect(overlap(events).waitingMs).toBe(overlap(events).actualMs);
  });

  it('leaves out the time in which nobody worked on the session, and that of a person', () => {
    const events: readonly Timed[] = [
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
    expect(overlap(events)).toEqual({ early: 0, leadMs: 0, actualMs: 400, waitingMs: 400 });
  });

  it('of no events is nothing', () => {
    expect(overlapOf([])).toEqual({ early: 0, leadMs: 0, actualMs: 0, waitingMs: 0 });
  });

  it('counts until it was let go of, where nothing was written since', () => {
    const fold = createOverlapFold();
    for (const event of eventList([
      [0, started()],
      [17, turnStarted],
    ]))
      fold.add(event);
    expect(fold.result(BEGAN + 2700).actualMs).toBe(2700);
  });

  it('does not count the time in which it waited until then', () => {
    const fold = createOverlapFold();
    for (const event of eventList([
      [0, started()],
      [17, { type: 'session.waiting', for: 'message' }],
    ]))
      fold.add(event);
    expect(fold.result(BEGAN + 2700).actualMs).toBe(17);
  });

  it('is never negative, and never more than all actions took together', () => {
    const times = fc.record({ at: fc.nat(3000), waits: fc.nat(500), ms: fc.nat(2000), isSync: fc.boolean() });
    fc.assert(
      fc.property(fc.array(times, { maxLength: 12 }), fc.nat(3000), (actions, streamMs) => {
        const events = actions.flatMap(({ at, waits, ms, isSync }, index): readonly Timed[] => [
          [at, declared(`a${index}`, isSync ? { mode: 'sync' } : {})],
          [at + waits, actionStarted(`a${index}`)],
          [at + waits + ms, completed(`a${index}`, ms)],
        ]);
        const { actualMs, waitingMs } = overlap(inOrder([...events, [streamMs, turnCompleted(streamMs)]]));
        const total = actions.reduce((sum, { ms }) => sum + ms, 0);
        expect(waitingMs).toBeGreaterThanOrEqual(actualMs);
        expect(waitingMs - actualMs).toBeLessThanOrEqual(total);
      }),
    );
  });
});

describe('the line about it', () => {
  it('says how early, and how long it would have taken', () => {
    expect(overlapText({ early: 2, leadMs: 3200, actualMs: 4000, waitingMs: 5000 })).toBe(
      '2 actions started while the model was speaking, the first 3.2 s before the response ended; waiting for the end would have taken 5.0 s instead of 4.0 s.',
    );
  });

  it('claims no gain where there was none', () => {
    expect(overlapText({ early: 1, leadMs: 10, actualMs: 4000, waitingMs: 4000 })).toBe(
      '1 action started while the model was speaking, 10 ms before the response ended.',
    );
    // Nor one that cannot be seen in the figures.
    expect(overlapText({ early: 1, leadMs: 10, actualMs: 4000, waitingMs: 4010 })).toMatch(/ended\.$/);
    expect(overlapText({ early: 0, leadMs: 0, actualMs: 4000, waitingMs: 4000 })).toBeUndefined();
  });
});
