import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Slots } from '../../src/engine/slots.ts';
import { createLocalSlots } from '../../src/engine/slots.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { moreRuns } from '../more-runs.ts';
import { restart, type Stage, type StageOptions, stage } from './stage.ts';

const LIMITED = { name: 'limited' } as const;

/** Options of a stage whose tool `limited` runs `max` at a time. Sessions that share `slots` share the limit. */
const limited = (
  max: number,
  slots: Slots = createLocalSlots(),
  { targets, ...options }: StageOptions = {},
): StageOptions => ({
  ...options,
  targets: { limited: { slots: { key: 'limited', max }, ...targets?.limited } },
  slot: ({ key, max: most, signal }) => slots.take(key, most, { group: 'ses', signal }),
});

/** Slots that are given later, as a database gives them. */
const late = (slots: Slots): Slots => ({
  async take(...asked) {
    await Promise.resolve();
    return slots.take(...asked);
  },
});

describe('an action whose target has slots', () => {
  it('starts at once where one is free, without a turn of the event loop', () => {
    const on = stage(limited(1));
    on.declare('a', LIMITED);
    expect(on.running()).toEqual(['a']);
  });

  it('waits for one, with nothing on the log but its declaration, and others go on', async () => {
    const on = stage(limited(2));
    for (const id of ['a', 'b', 'c', 'd']) on.declare(id, LIMITED);
    on.declare('other');
    await on.settle();
    expect(on.running()).toEqual(['a', 'b', 'other']);
    expect(on.story()).not.toContain('started c');
    await on.complete('b');
    expect(on.running()).toEqual(['a', 'other', 'c']);
    await on.fail('a');
    expect(on.running()).toEqual(['other', 'c', 'd']);
    expect(on.strays).toEqual([]);
  });

  it('shares them with other sessions', async () => {
    const slots = createLocalSlots();
    const [one, two] = [stage(limited(1, slots)), stage(limited(1, slots))] as [Stage, Stage];
    one.declare('a', LIMITED);
    two.declare('b', LIMITED);
    await two.settle();
    expect(two.running()).toEqual([]);
    await one.complete('a');
    await two.settle();
    expect(two.running()).toEqual(['b']);
  });

  it('has its time counted from its start, not from its wait', async () => {
    const on = stage(limited(1, undefined, { actionTimeoutMs: 1_000 }));
    on.declare('a', { ...LIMITED, timeout: 100_000 });
    on.declare('b', LIMITED);
    await on.clock.advance(50_000);
    expect(on.story()).toEqual(['declared a', 'started a', 'declared b']);
    await on.complete('a');
    await on.clock.advance(999);
    expect(on.running()).toEqual(['b']);
    await on.complete('b');
    expect(on.events.at(-1)).toMatchObject({ type: 'action.completed', ms: 999 });
  });

  it('gives it back where it is out of time, once its target has stopped', async () => {
    const on = stage(limited(1, undefined, { actionTimeoutMs: 1_000 }));
    on.declare('a', LIMITED);
    on.declare('b', LIMITED);
    await on.clock.advance(1_000);
    expect(on.running()).toEqual(['a']);
    await on.fail('a');
    expect(on.story()).toEqual(['declared a', 'started a', 'declared b', 'failed a timeout', 'started b']);
  });

  it('gives it back between its tries, and takes another for the next', async () => {
    const on = stage(limited(1));
    on.declare('a', { ...LIMITED, retry: 1 });
    on.declare('b', LIMITED);
    await on.fail('a');
    expect(on.running()).toEqual(['b']);
    await on.clock.advance(60_000);
    expect(on.running()).toEqual(['b']);
    await on.complete('b');
    expect(on.running()).toEqual(['a']);
    expect(on.story().at(-1)).toBe('started a 2');
  });

  it('that is cancelled takes none, and gives back the one it has, also before its start is committed', async () => {
    const slots = createLocalSlots();
    const on = stage(limited(1, slots, { manualCommit: true, targets: { limited: { idempotent: false } } }));
    for (const id of ['a', 'b', 'c']) on.declare(id, LIMITED);
    await on.settle();
    await on.scheduler.cancel('enough', ['b']);
    await on.scheduler.cancel('enough', ['a']); // its start waits for its commit
    await on.settle();
    expect(on.story()).toEqual([
      'declared a',
      'started a',
      'declared b',
      'declared c',
      'cancelled b',
      'cancelled a',
      'started c',
    ]);
    await on.commit();
    expect(on.running()).toEqual(['c']);
    const ending = on.scheduler.cancel('over');
    await on.fail('c');
    await ending;
    expect(typeof slots.take('limited', 1, { group: 'x', signal: new AbortController().signal })).toBe(
      'function',
    );
  });

  it('gives it back where this process lets go of the session, and the next one takes it anew', async () => {
    const slots = createLocalSlots();
    const options = limited(1, slots);
    const before = stage(options);
    for (const id of ['a', 'b']) before.declare(id, LIMITED);
    const left = before.scheduler.release();
    before.call('a').reject(new Error('stopped'));
    await left;
    const after = restart(before, options);
    await after.settle();
    expect(after.running()).toEqual(['a']);
    await after.complete('a');
    expect(after.running()).toEqual(['b']);
  });

  it('that was given one too late gives it back', async () => {
    const slots = createLocalSlots();
    let give: (free: () => void) => void = () => undefined;
    let freed = 0;
    const on = stage({
      ...limited(1, slots),
      slot: () =>
        new Promise((resolve) => {
          give = resolve;
        }),
    });
    on.declare('a', LIMITED);
    await on.settle();
    await on.scheduler.cancel('enough', ['a']);
    give(() => freed++);
    await on.settle();
    expect(freed).toBe(1);
  });

  it('that can be given none fails with the reason', async () => {
    const full = new RuntimeError('slots_full', 'Full.', { retryable: true });
    const on = stage({ ...limited(1), slot: () => Promise.reject(full) });
    on.declare('a', LIMITED);
    await on.settle();
    expect(on.story()).toEqual(['declared a', 'failed a slots_full']);
  });

  it('holds none while it waits for a place, so that what has the place may take it', async () => {
    const slots = createLocalSlots();
    const parent = stage(limited(1, late(slots), { parallelActions: 1 }));
    const child = stage(limited(1, late(slots)));
    // A tool asks for its slot, and meanwhile a sub-agent begins in the one place there is, which calls the same tool.
    parent.declare('tool', LIMITED);
    parent.declare('agent', { kind: 'agent', name: 'helper' });
    expect(parent.running()).toEqual(['agent']);
    await parent.settle();
    child.declare('of child', LIMITED);
    await child.settle();
    expect(child.running()).toEqual(['of child']);
    await child.complete('of child');
    await parent.complete('agent');
    expect(parent.running()).toEqual(['tool']);
  });

  it('comes to its turn though others keep coming for the one place there is', async () => {
    const on = stage(limited(1, late(createLocalSlots()), { parallelActions: 1 }));
    on.declare('limited', LIMITED);
    for (let n = 0; n < 2; n++) on.declare(`other ${n}`);
    for (let n = 2; n < 20; n++) {
      await on.settle();
      on.declare(`other ${n}`);
      await on.complete(on.running()[0] ?? '');
    }
    expect(on.story()).toContain('completed limited');
  });

  it('gives it back where this process begins no further try that must not be made twice', async () => {
    const slots = createLocalSlots();
    const options = limited(1, slots, { targets: { limited: { idempotent: false } } });
    const on = stage({ ...options, once: () => undefined });
    on.declare('a', LIMITED);
    await on.settle();
    expect(on.story()).toEqual(['declared a']);
    const { signal } = new AbortController();
    expect(typeof slots.take('limited', 1, { group: 'x', signal })).toBe('function');
  });

  it('comes to its turn though places and slots are both scarce', async () => {
    const slots = createLocalSlots();
    const on = stage(limited(1, late(slots), { parallelActions: 1 }));
    on.declare('limited', LIMITED);
    for (let n = 0; n < 20; n++) on.declare(`other ${n}`);
    for (let n = 0; n < 21; n++) {
      await on.settle();
      expect(on.running()).toHaveLength(1);
      await on.complete(on.running()[0] ?? '');
    }
    expect(on.story().filter((each) => each.startsWith('completed'))).toHaveLength(21);
  });

  it('is never one too many, ends, and leaves nothing behind, whatever is done to it', async () => {
    const act = fc.oneof(
      fc.record({
        do: fc.constant('declare' as const),
        on: fc.nat(1),
        limited: fc.boolean(),
        retry: fc.nat(1),
      }),
      fc.record({ do: fc.constantFrom('complete' as const, 'fail' as const), on: fc.nat(1), nth: fc.nat(5) }),
      fc.record({ do: fc.constant('cancel' as const), on: fc.nat(1), nth: fc.nat(10) }),
      fc.record({ do: fc.constant('pass' as const), ms: fc.nat(500) }),
    );
    const plan = fc.record({
      max: fc.integer({ min: 1, max: 3 }),
      places: fc.integer({ min: 1, max: 3 }),
      isLate: fc.boolean(),
      idempotent: fc.boolean(),
      acts: fc.array(act, { maxLength: 60 }),
    });
    await fc.assert(
      fc.asyncProperty(plan, async ({ max, places, isLate, idempotent, acts }) => {
        const clock = createSimulatedClock();
        const own = createLocalSlots();
        const slots = isLate ? late(own) : own;
        const options = limited(max, slots, {
          clock,
          parallelActions: places,
          commitMs: 3,
          targets: { limited: { idempotent } },
        });
        const sessions = [stage(options), stage(options)];
        const check = () => {
          const calls = sessions.flatMap((each) => each.calls);
          expect(calls.filter(({ action }) => action.name === 'limited').length).toBeLessThanOrEqual(max);
          for (const { calls: own, strays } of sessions) {
            expect(own.length).toBeLessThanOrEqual(places);
            expect(strays).toEqual([]);
          }
        };
        let made = 0;
        for (const each of acts) {
          const on = 'on' in each ? sessions[each.on] : undefined;
          if (each.do === 'pass') await clock.advance(each.ms);
          else if (each.do === 'declare')
            on?.declare(`a${++made}`, { retry: each.retry, ...(each.limited ? LIMITED : {}) });
          else if (each.do === 'cancel') void on?.scheduler.cancel('enough', [`a${each.nth}`]);
          else if (each.do === 'complete') on?.calls[each.nth]?.resolve();
          else on?.calls[each.nth]?.reject(new Error('no'));
          check();
        }
        for (
          let rounds = 0;
          rounds < 300 && sessions.some((each) => each.scheduler.tracked().length > 0);
          rounds++
        ) {
          await clock.advance(1_000);
          check();
          for (const each of sessions) for (const call of [...each.calls]) call.resolve();
        }
        for (const each of sessions) expect(each.scheduler.tracked()).toEqual([]);
        await clock.advance(60_000);
        const all = Array.from({ length: max }, () =>
          own.take('limited', max, { group: 'x', signal: new AbortController().signal }),
        );
        expect(all.every((each) => typeof each === 'function')).toBe(true);
      }),
      { numRuns: moreRuns(150) },
    );
  });
});
