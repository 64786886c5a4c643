import { describe, expect, it } from 'vitest';
import { createAlarm, createEmbeddedEngine } from '../../src/engine/embedded-engine.ts';
import type { WorkEnd } from '../../src/engine/engine.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';

describe('an alarm', () => {
  const ringing = () => {
    const clock = createSimulatedClock();
    const start = clock.now();
    const rung: string[] = [];
    const alarm = createAlarm<string>(clock, (item, due) => rung.push(`${item} ${due - start}`));
    return { clock, rung, alarm, at: (ms: number) => start + ms };
  };

  it('rings for each in the order of their times, with one timer for all', async () => {
    const { clock, rung, alarm, at } = ringing();
    for (const [item, ms] of [
      ['c', 300],
      ['a', 100],
      ['b', 200],
    ] as const)
      alarm.set(item, at(ms));
    expect([clock.pending, alarm.next()]).toEqual([1, at(100)]);
    await clock.advance(299);
    expect(rung).toEqual(['a 100', 'b 200']);
    await clock.advance(1);
    expect([rung.at(-1), clock.pending, alarm.next()]).toEqual(['c 300', 0, undefined]);
  });

  it('that is moved or taken back rings at no other time, and holds no timer for nothing', async () => {
    const { clock, rung, alarm, at } = ringing();
    alarm.set('a', at(100));
    alarm.set('a', at(200));
    alarm.set('b', at(150));
    alarm.delete('b');
    alarm.delete('never set');
    await clock.advance(199);
    expect([rung, clock.pending, alarm.dueOf('a'), alarm.dueOf('b')]).toEqual([[], 1, at(200), undefined]);
    alarm.delete('a');
    expect(clock.pending).toBe(0);
    await clock.advance(100);
    expect(rung).toEqual([]);
  });

  it('rings at once for a time that has passed', async () => {
    const { clock, rung, alarm, at } = ringing();
    alarm.set('a', at(-500));
    await clock.advance(0);
    expect(rung).toEqual(['a -500']);
  });

  it('rings for what is set anew as it rings, behind the others that were due', async () => {
    const clock = createSimulatedClock();
    const rung: string[] = [];
    const alarm = createAlarm<string>(clock, (item) => {
      rung.push(item);
      if (rung.length === 1) alarm.set('a', clock.now());
    });
    alarm.set('a', clock.now());
    alarm.set('b', clock.now());
    await clock.advance(0);
    expect(rung).toEqual(['a', 'b', 'a']);
  });

  it('that is closed rings no more, holds no timer and takes nothing', async () => {
    const { clock, rung, alarm, at } = ringing();
    alarm.set('a', at(100));
    alarm.close();
    alarm.set('b', at(50));
    expect([clock.pending, alarm.next()]).toEqual([0, undefined]);
    await clock.advance(200);
    expect(rung).toEqual([]);
  });
});

describe('the embedded engine', () => {
  const open = (work: (stream: string) => Promise<WorkEnd>, atOnce?: number) => {
    const clock = createSimulatedClock();
    const errors: unknown[] = [];
    const engine = createEmbeddedEngine({
      store: createMemoryStore({ clock }),
      clock,
      onError: (thrown) => errors.push(thrown),
      ...(atOnce === undefined ? {} : { atOnce }),
    });
    const begun: string[] = [];
    engine.onWork('run', (stream) => {
      begun.push(stream);
      return work(stream);
    });
    return { engine, clock, begun, errors };
  };
  const waits = async (): Promise<WorkEnd> => ({ kind: 'waiting' });

  it('keeps a time that is to come, whatever has a stream worked on before', async () => {
    const { engine, clock, begun } = open(waits);
    engine.wakeAt('run', 'a', clock.now() + 1_000);
    engine.dispatch('run', 'a');
    await clock.advance(999);
    expect([begun, engine.nextDue()]).toEqual([['a'], clock.now() + 1]);
    await clock.advance(1);
    expect([begun, engine.nextDue()]).toEqual([['a', 'a'], undefined]);
    await engine.close();
  });

  it('looks once at a stream that is placed when its time has come', async () => {
    const { engine, clock, begun } = open(waits);
    engine.wakeAt('run', 'a', clock.now());
    engine.dispatch('run', 'a');
    await clock.advance(1_000);
    expect([begun, clock.pending]).toEqual([['a'], 0]);
    await engine.close();
  });

  it('begins with short pauses again after an error that has passed', async () => {
    const passing = new RuntimeError('busy', 'Busy.', { retryable: true });
    const script = ['fail', 'fail', 'fine', 'fail', 'fine'];
    const { engine, clock, begun, errors } = open(async () => {
      if (script.shift() === 'fail') throw passing;
      return { kind: 'waiting' };
    });
    engine.dispatch('run', 'a');
    await clock.advance(1_000); // the first pause
    await clock.advance(1_999);
    expect(begun).toHaveLength(2);
    await clock.advance(1); // the second is twice as long
    expect(begun).toHaveLength(3);
    engine.dispatch('run', 'a');
    await clock.advance(1_000);
    expect([begun.length, errors.length]).toEqual([5, 3]);
    await engine.close();
  });

  it('gives a stream that it knows the turn of the group that it is placed with', async () => {
    const ends: (() => void)[] = [];
    const { engine, clock, begun } = open(
      () => new Promise((resolve) => ends.push(() => resolve({ kind: 'done' }))),
      1,
    );
    engine.wakeAt('run', 'a3', clock.now() + 60_000);
    for (const stream of ['a1', 'a2', 'a3']) engine.dispatch('run', stream, undefined, 'a');
    engine.dispatch('run', 'b');
    for (let n = 0; n < 4; n++) {
      await clock.advance(0);
      ends.shift()?.();
    }
    await clock.advance(0);
    expect(begun).toEqual(['a1', 'a2', 'b', 'a3']);
    await engine.close();
  });

  it('that is closed takes nothing, and holds no timer', async () => {
    const { engine, clock, begun } = open(waits);
    engine.wakeAt('run', 'later', clock.now() + 1_000);
    engine.dispatch('run', 'a');
    await engine.close();
    expect(engine.dispatch('run', 'b')).toBe('here');
    engine.wakeAt('run', 'c', clock.now());
    await clock.advance(5_000);
    expect([begun, engine.busy(), engine.nextDue(), clock.pending]).toEqual([[], [], undefined, 0]);
  });
});
