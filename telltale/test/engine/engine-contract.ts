import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Engine, WorkEnd } from '../../src/engine/engine.ts';
import { recoverRuns } from '../../src/engine/read-run.ts';
import { createRunLog } from '../../src/engine/run-log.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { RunEventBody } from '../../src/log/run-event.ts';
import { emptyRun } from '../../src/log/run-state.ts';
import type { Store } from '../../src/store/store.ts';

/** An engine and the store it belongs to. */
export interface EngineStage {
  readonly engine: Engine;
  readonly store: Store;
  readonly clock: Clock;
  /** How many streams are many more than it works on at once: a thousand if absent. */
  readonly many?: number;
  /** What went to `onError`. */
  readonly errors: readonly unknown[];
  /** Lets so much time pass, and all that follows from it. */
  pass(ms: number): Promise<void>;
  /** Resolves once `held` is true. */
  until(held: () => boolean): Promise<void>;
  close(): Promise<void>;
}

/** A time that is long for the engine: what is due later has not been done by chance. */
const LONG_MS = 2_000;

const tick = () => new Promise<void>((resolve) => queueMicrotask(resolve));

/** Work that a test ends by hand. */
function createHands() {
  const begun: string[] = [];
  const open = new Map<string, { end: (end: WorkEnd) => void; fail: (thrown: unknown) => void }>();
  const signals: AbortSignal[] = [];
  return {
    begun,
    signals,
    work: (stream: string, signal: AbortSignal) =>
      new Promise<WorkEnd>((resolve, reject) => {
        if (open.has(stream)) reject(new Error(`${stream} is worked on twice at once`));
        begun.push(stream);
        signals.push(signal);
        const over = (then: () => void) => {
          open.delete(stream);
          then();
        };
        open.set(stream, { end: (end) => over(() => resolve(end)), fail: (why) => over(() => reject(why)) });
      }),
    end: (stream: string, end: WorkEnd = { kind: 'done' }) => open.get(stream)?.end(end),
    fail: (stream: string, why: unknown) => open.get(stream)?.fail(why),
  };
}

/** What every engine promises. */
export function engineContract(open: () => Promise<EngineStage>): void {
  let stage: EngineStage;
  let hands: ReturnType<typeof createHands>;
  beforeEach(async () => {
    stage = await open();
    hands = createHands();
    stage.engine.onWork('run', hands.work);
  });
  afterEach(async () => {
    for (const stream of new Set(hands.begun)) hands.end(stream);
    await stage.close();
  });
  const began = (...streams: string[]) => stage.until(() => hands.begun.length >= streams.length);
  const newRun = (name: string, status = 'running') =>
    stage.store.create(name, { kind: 'run', name: 'w', status, title: '' });

  describe('work', () => {
    it('is begun for a stream that is placed, after the call has returned', async () => {
      stage.engine.dispatch('run', 'a');
      expect(hands.begun).toEqual([]);
      await began('a');
      expect(hands.begun).toEqual(['a']);
    });

    it('is done once for a stream that is placed several times before it has begun', async () => {
      for (let n = 0; n < 3; n += 1) stage.engine.dispatch('run', 'a');
      await began('a');
      hands.end('a');
      await stage.engine.idle();
      expect(hands.begun).toEqual(['a']);
    });

    it('is done once more, and once only, where the stream is placed while it is worked on', async () => {
      stage.engine.dispatch('run', 'a');
      await began('a');
      for (let n = 0; n < 3; n += 1) stage.engine.dispatch('run', 'a');
      await stage.pass(LONG_MS);
      expect(hands.begun).toEqual(['a']);
      hands.end('a');
      await began('a', 'a');
      hands.end('a');
      await stage.engine.idle();
      expect(hands.begun).toEqual(['a', 'a']);
    });

    it('goes on side by side for different streams, and for streams of different kinds with one name', async () => {
      const sessions: string[] = [];
      stage.engine.onWork('session', async (stream) => {
        sessions.push(stream);
        return { kind: 'done' };
      });
      stage.engine.dispatch('run', 'a');
      stage.engine.dispatch('run', 'b');
      stage.engine.dispatch('session', 'a');
      await began('a', 'b');
      await stage.until(() => sessions.length === 1);
      expect([...hands.begun].sort()).toEqual(['a', 'b']);
    });

    it('that throws is told of, and keeps no other from being done', async () => {
      stage.engine.dispatch('run', 'a');
      stage.engine.dispatch('run', 'b');
      await began('a', 'b');
      hands.fail('a', new Error('broken'));
      hands.end('b');
      await stage.engine.idle();
      expect(stage.errors).toMatchObject([{ message: 'broken' }]);
      stage.engine.dispatch('run', 'a');
      await began('a', 'b', 'a');
    });

    it('is tried again after an error that may pass', async () => {
      stage.engine.dispatch('run', 'a');
      await began('a');
      hands.fail('a', new RuntimeError('busy', 'Busy.', { retryable: true }));
      await stage.engine.idle();
      expect(hands.begun).toEqual(['a']);
      await stage.pass(60_000);
      expect(hands.begun).toEqual(['a', 'a']);
    });

    it('of one session that places a thousand streams makes no other wait for them: groups take turns', async () => {
      const many = Array.from({ length: stage.many ?? 1_000 }, (_, n) => `many_${n}`);
      for (const stream of many) stage.engine.dispatch('run', stream, undefined, 'ses_many');
      for (const stream of ['other_0', 'other_1'])
        stage.engine.dispatch('run', stream, undefined, 'ses_other');
      stage.engine.dispatch('run', 'third', undefined, 'ses_third');
      await stage.pass(20);
      const atOnce = hands.begun.length;
      expect(atOnce).toBeLessThan(many.length);
      // One ends, one begins.
      while (!hands.begun.includes('third') || !hands.begun.includes('other_1')) {
        const before = hands.begun.length;
        hands.end(hands.begun[before - atOnce] ?? '');
        for (let waits = 0; hands.begun.length === before && waits < 100; waits++) await stage.pass(20);
        expect(hands.begun.length).toBeGreaterThan(before);
      }
      const groups = 3;
      expect(hands.begun.indexOf('other_0')).toBeLessThan(atOnce + groups);
      expect(hands.begun.indexOf('third')).toBeLessThan(atOnce + groups);
      expect(hands.begun.indexOf('other_1')).toBeLessThan(atOnce + 2 * groups);
      const ofMany = hands.begun.filter((stream) => stream.startsWith('many'));
      expect(ofMany).toEqual(many.slice(0, ofMany.length));
      for (let n = 0, waits = 0; n < many.length + 3 && waits < 1_000; waits++) {
        for (; n < hands.begun.length; n++) hands.end(hands.begun[n] ?? '');
        await stage.pass(20);
      }
      await stage.engine.idle();
      expect([...hands.begun].sort()).toEqual([...many, 'other_0', 'other_1', 'third'].sort());
    });

    it('has one who does it for each kind', () => {
      expect(() => stage.engine.onWork('run', hands.work)).toThrow(
        'Somebody works on streams of kind "run" already.',
      );
      expect(() => stage.engine.dispatch('session', 's')).toThrow(
        'Nobody works on streams of kind "session"',
      );
    });
  });

  describe('time', () => {
    it('has a stream worked on when it is due, and not before', async () => {
      stage.engine.wakeAt('run', 'a', stage.clock.now() + 2 * LONG_MS);
      await stage.pass(LONG_MS);
      expect(hands.begun).toEqual([]);
      await stage.pass(LONG_MS);
      await began('a');
    });

    it('counts from the earliest of several, which all come to one look', async () => {
      const now = stage.clock.now();
      for (const ms of [3, 1, 2]) stage.engine.wakeAt('run', 'a', now + ms * LONG_MS);
      expect(stage.engine.nextDue()).toBe(now + LONG_MS);
      await stage.pass(LONG_MS);
      await began('a');
      hands.end('a', { kind: 'waiting' });
      await stage.pass(3 * LONG_MS);
      expect(hands.begun).toEqual(['a']);
      expect(stage.engine.nextDue()).toBeUndefined();
    });

    it('that has passed is at once', async () => {
      stage.engine.wakeAt('run', 'a', stage.clock.now() - 1);
      await stage.pass(0);
      await began('a');
    });

    it('is kept where work ends by waiting for it, in the order of what is due', async () => {
      const now = stage.clock.now();
      for (const [stream, ms] of [
        ['late', 2],
        ['soon', 1],
      ] as const) {
        stage.engine.dispatch('run', stream);
        await stage.until(() => hands.begun.includes(stream));
        hands.end(stream, { kind: 'waiting', due: now + ms * LONG_MS });
      }
      await stage.engine.idle();
      expect(stage.engine.nextDue()).toBe(now + LONG_MS);
      await stage.pass(LONG_MS);
      expect(hands.begun).toEqual(['late', 'soon', 'soon']);
      hands.end('soon');
      await stage.pass(LONG_MS);
      expect(hands.begun).toEqual(['late', 'soon', 'soon', 'late']);
    });

    it('is forgotten where the stream came to its end first', async () => {
      stage.engine.wakeAt('run', 'a', stage.clock.now() + LONG_MS);
      stage.engine.dispatch('run', 'a');
      await began('a');
      hands.end('a');
      await stage.pass(2 * LONG_MS);
      expect(hands.begun).toEqual(['a']);
      expect(stage.engine.nextDue()).toBeUndefined();
    });

    it('that comes while the stream is worked on has it looked at once more', async () => {
      stage.engine.dispatch('run', 'a');
      await began('a');
      stage.engine.wakeAt('run', 'a', stage.clock.now() + LONG_MS);
      await stage.pass(LONG_MS);
      hands.end('a', { kind: 'waiting' });
      await began('a', 'a');
    });
  });

  describe('a signal', () => {
    it('is in the inbox before the stream is worked on', async () => {
      const writer = await newRun('a');
      await stage.engine.signal('run', 'a', { kind: 'signal', from: 'user', body: { event: 'go' } });
      await began('a');
      expect(await writer.inbox()).toMatchObject([{ kind: 'signal', from: 'user', body: { event: 'go' } }]);
    });

    it('wakes a stream that waits for nothing else', async () => {
      await newRun('a');
      stage.engine.dispatch('run', 'a');
      await began('a');
      hands.end('a', { kind: 'waiting' });
      await stage.engine.idle();
      await stage.engine.signal('run', 'a', { kind: 'signal', from: 'user', body: null });
      await began('a', 'a');
    });

    it('to a stream that does not exist is refused', async () => {
      await expect(
        stage.engine.signal('run', 'nobody', { kind: 'signal', from: 'user', body: null }),
      ).rejects.toMatchObject({ code: 'stream_unknown' });
    });
  });

  describe('a schedule', () => {
    it('fires at each time once, counted from its beginning, until it is ended', async () => {
      const fired: number[] = [];
      const from = stage.clock.now() - 500;
      const end = stage.engine.schedule('s', { everyMs: LONG_MS, from }, (due) => fired.push(due));
      await stage.pass(2 * LONG_MS);
      expect(fired).toEqual([from + LONG_MS, from + 2 * LONG_MS]);
      end();
      await stage.pass(2 * LONG_MS);
      expect(fired).toHaveLength(2);
    });

    it('of the same name takes the place of the one before', async () => {
      const fired: string[] = [];
      const from = stage.clock.now();
      const endOld = stage.engine.schedule('s', { everyMs: LONG_MS, from }, () => fired.push('old'));
      stage.engine.schedule('s', { everyMs: LONG_MS, from }, () => fired.push('new'));
      endOld();
      await stage.pass(LONG_MS);
      expect(fired).toEqual(['new']);
    });

    it('that cannot be kept is refused, and one whose call throws goes on', async () => {
      expect(() => stage.engine.schedule('s', { everyMs: 0, from: 0 }, () => undefined)).toThrow(
        'The schedule "s" cannot be kept: every 0 ms from 0 on.',
      );
      let calls = 0;
      stage.engine.schedule('t', { everyMs: LONG_MS, from: stage.clock.now() }, () => {
        calls += 1;
        throw new Error('no luck');
      });
      await stage.pass(2 * LONG_MS);
      expect(calls).toBe(2);
      expect(stage.errors).toMatchObject([{ message: 'no luck' }, { message: 'no luck' }]);
    });
  });

  describe('the engine', () => {
    it('is idle where nothing is in hand, whatever is due later', async () => {
      await stage.engine.idle();
      stage.engine.wakeAt('run', 'later', stage.clock.now() + 10 * LONG_MS);
      await stage.engine.idle();
      stage.engine.dispatch('run', 'a');
      expect(stage.engine.busy()).toEqual([{ kind: 'run', stream: 'a' }]);
      let idle = false;
      const over = stage.engine.idle().then(() => {
        idle = true;
      });
      await began('a');
      stage.engine.dispatch('run', 'a');
      hands.end('a');
      await began('a', 'a');
      expect(idle).toBe(false);
      hands.end('a');
      await over;
      expect(stage.engine.busy()).toEqual([]);
    });

    it('that closes aborts what is in hand, waits for it, and begins nothing more', async () => {
      stage.engine.dispatch('run', 'a');
      await began('a');
      stage.engine.dispatch('run', 'a');
      stage.engine.wakeAt('run', 'b', stage.clock.now() + LONG_MS);
      let closed = false;
      const closing = stage.engine.close().then(() => {
        closed = true;
      });
      await tick();
      expect(hands.signals[0]?.aborted).toBe(true);
      expect(closed).toBe(false);
      hands.end('a', { kind: 'waiting', due: stage.clock.now() });
      await closing;
      stage.engine.dispatch('run', 'c');
      await stage.pass(2 * LONG_MS);
      expect(hands.begun).toEqual(['a']);
      expect(stage.engine.nextDue()).toBeUndefined();
    });
  });

  describe('after a restart', () => {
    const waiting = (due?: number): RunEventBody => ({
      type: 'workflow.waiting',
      for: 'a time',
      ...(due === undefined ? {} : { due }),
    });
    const leave = async (run: string, ...bodies: RunEventBody[]) => {
      const writer = await newRun(run);
      const log = createRunLog({
        writer,
        state: emptyRun(),
        clock: stage.clock,
        onLost: (error) => expect.unreachable(error.message),
      });
      log.append({ type: 'audit', who: 'test', what: 'begun' });
      for (const body of bodies) log.append(body);
      await log.flushed();
      await writer.release();
    };

    it('what was alive is placed, first what was in hand, then what is due, then what waits', async () => {
      const now = stage.clock.now();
      await leave('waits', waiting());
      await leave('later', waiting(now + LONG_MS));
      await leave('due', waiting(now));
      await leave('in-hand');
      await leave('over', { type: 'workflow.completed', output: null });
      await leave('failed', {
        type: 'workflow.failed',
        error: { code: 'x', message: 'x', retryable: false },
      });
      expect(await recoverRuns(stage.engine, stage.store, now)).toEqual(['in-hand', 'due', 'waits', 'later']);
      await stage.until(() => hands.begun.length === 3);
      expect([...hands.begun].sort()).toEqual(['due', 'in-hand', 'waits']);
      for (const run of ['due', 'in-hand', 'waits']) hands.end(run, { kind: 'waiting' });
      expect(stage.engine.nextDue()).toBe(now + LONG_MS);
      await stage.pass(LONG_MS);
      await stage.until(() => hands.begun.includes('later'));
    });

    it('what waits for a time is neither read nor worked on before then, unless a message has come', async () => {
      const now = stage.clock.now();
      await leave('later', waiting(now + LONG_MS));
      await leave('called', waiting(now + LONG_MS));
      await stage.store.send('called', { kind: 'signal', from: 'user', body: null });
      const read: string[] = [];
      const store = {
        ...stage.store,
        read: (stream: string) => {
          read.push(stream);
          return stage.store.read(stream);
        },
      };
      const waits: string[] = [];
      await recoverRuns(stage.engine, store, now, ({ stream }) => waits.push(stream));
      await stage.until(() => hands.begun.length > 0);
      expect(hands.begun).toEqual(['called']);
      expect(waits).toEqual(['later']);
      expect(read).toEqual([]);
    });

    it('a run that died before its first event is placed, and one that somebody has is left to him', async () => {
      await newRun('owned');
      await (await newRun('empty')).release();
      await stage.store.create('ses_1', { kind: 'session', name: 'a', status: 'running', title: '' });
      expect(await recoverRuns(stage.engine, stage.store, stage.clock.now())).toEqual(['empty']);
    });
  });
}
