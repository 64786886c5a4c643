import { describe, expect, it } from 'vitest';
import { forkSession } from '../../src/agent/fork-session.ts';
import { sendSteer } from '../../src/agent/messages.ts';
import { readEvents } from '../../src/agent/read-session.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { encodeEvent } from '../../src/log/codec.ts';
import type { Cause, EventBody } from '../../src/log/event.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { Store } from '../../src/store/store.ts';
import { appendCommitted } from '../../src/store/upkeep/append-committed.ts';
import { checkStore } from '../../src/store/upkeep/check-store.ts';
import { clearCopyMarker, setCopyMarker } from '../../src/store/upkeep/plan-copy.ts';
import { pruneStore } from '../../src/store/upkeep/prune-store.ts';

const OUTSIDE = { stream: 'ses_a', seq: 0, depth: 0 };
const asked = (review: string): EventBody => ({
  type: 'review.requested',
  review,
  action: review,
  target: 'tool "x"',
  what: 'call it',
  because: 'approval: always',
  input: {},
  grants: [],
});
const fired = (run: string): EventBody => ({
  type: 'trigger.fired',
  trigger: 'w#0',
  workflow: 'w',
  run,
  seen: {},
  chain: ['w'],
});
const LOG: readonly (readonly [EventBody, Cause])[] = [
  [
    {
      type: 'session.started',
      agent: 'coder',
      input: 'Go.',
      model: 'none',
      manifest: { path: '', hash: '' },
      parent: { session: 'ses_above', action: 'a', agents: ['boss'] },
    },
    { stream: 'ses_above', seq: 4, depth: 3 },
  ],
  [
    { type: 'turn.started', prompt: { tokens: 1, reused_prefix: 1 } },
    { stream: 'ses_a', seq: 1, depth: 4 },
  ],
  [asked('r1'), { stream: 'ses_a', seq: 2, depth: 5 }],
  [asked('r2'), { stream: 'ses_a', seq: 2, depth: 5 }],
  [fired('run_a'), { stream: 'ses_a', seq: 2, depth: 5 }],
  [fired('run_b'), { stream: 'ses_a', seq: 2, depth: 5 }],
  [{ type: 'review.resolved', review: 'r1', answer: 'approved', by: 'ann' }, OUTSIDE],
  [
    { type: 'workflow.completed', run: 'run_a', workflow: 'w', output: 1 },
    { stream: 'run_a', seq: 3, depth: 6 },
  ],
  [
    { type: 'response', text: 'Done.', final: true },
    { stream: 'ses_a', seq: 2, depth: 5 },
  ],
];

async function stage(log = LOG) {
  const clock = createSimulatedClock();
  const store = createMemoryStore({ clock });
  const writer = await store.create('ses_a', {
    kind: 'session',
    name: 'coder',
    status: 'running',
    title: '',
  });
  const events = log.map(([body, cause], index) =>
    encodeEvent({ seq: index + 1, at: index, session: 'ses_a', turn: index === 0 ? 0 : 1, cause }, body),
  );
  await new Promise<void>((resolve, reject) =>
    writer.append({ expectedSeq: 0, events, status: 'completed' }, (error) =>
      error === undefined ? resolve() : reject(error),
    ),
  );
  await writer.release();
  const fork = (seq: number, id = 'ses_b') => forkSession(store, 'ses_a', seq, id, clock);
  return { store, clock, fork };
}

describe('the log of a fork', () => {
  it('begins as the other did, with causes in its own stream where they were in that one’s', async () => {
    const { store, fork } = await stage();
    expect(await fork(9)).toBe('ses_b');
    const forked = await readEvents(store, 'ses_b');
    const before = await readEvents(store, 'ses_a');
    expect(forked.slice(1, 9)).toEqual(
      before.slice(1).map((event) => ({
        ...event,
        session: 'ses_b',
        cause: event.cause.stream === 'ses_a' ? { ...event.cause, stream: 'ses_b' } : event.cause,
      })),
    );
    expect(forked[7]?.cause.stream).toBe('run_a');
  });

  it('says where it branched off, and works for nobody', async () => {
    const { store, fork } = await stage();
    await fork(9);
    const [started] = await readEvents(store, 'ses_b');
    expect(started).toMatchObject({ forked: { session: 'ses_a', seq: 9 }, cause: { stream: 'ses_above' } });
    expect(started).not.toHaveProperty('parent');
    const [audit] = (await readEvents(store, 'ses_b')).slice(9);
    expect(audit).toMatchObject({
      seq: 10,
      turn: 1,
      type: 'audit',
      who: 'fork',
      what: 'branched off from ses_a at 9',
      cause: { stream: 'ses_a', seq: 9, depth: 6 },
    });
    expect(await store.info('ses_b')).toMatchObject({ status: 'interrupted', head: 12, name: 'coder' });
    expect((await store.info('ses_b'))?.owner).toBeUndefined();
  });

  it('ends what is the other’s: questions that are open, and runs under way', async () => {
    const { store, fork } = await stage();
    await fork(9);
    expect((await readEvents(store, 'ses_b')).slice(10)).toMatchObject([
      { type: 'review.resolved', review: 'r2', answer: 'withdrawn', by: 'fork' },
      { type: 'workflow.cancelled', run: 'run_b', workflow: 'w' },
    ]);
    await fork(6, 'ses_c');
    expect((await readEvents(store, 'ses_c')).slice(7).map(({ type }) => type)).toEqual([
      'review.resolved',
      'review.resolved',
      'workflow.cancelled',
      'workflow.cancelled',
    ]);
  });

  it.each([0, 10, 99])('cannot begin at an event that is not there: %i', async (seq) => {
    const { store, fork } = await stage();
    await expect(fork(seq)).rejects.toMatchObject({
      code: 'event_unknown',
      message: expect.stringContaining('Its last event is 9'),
      hint: expect.any(String),
    });
    expect(await store.info('ses_b')).toBeUndefined();
  });

  it('is none at the end of a session that has completed: nothing could go on from there', async () => {
    const { store, fork } = await stage([
      ...LOG,
      [
        { type: 'session.completed', result: 'Done.' },
        { stream: 'ses_a', seq: 9, depth: 6 },
      ],
    ]);
    await expect(fork(10)).rejects.toMatchObject({
      code: 'session_completed',
      message: 'ses_a has completed at event 10, so nothing can continue from there.',
    });
    expect(await store.info('ses_b')).toBeUndefined();
    await fork(9);
  });

  const said = 'x'.repeat(12 * 1024 * 1024);
  /** With more on the log than an append may have. */
  async function longStage() {
    const { store, clock } = await stage();
    const writer = await store.acquire('ses_a');
    for (let seq = 10; seq <= 15; seq++) {
      const cause = { stream: 'ses_a', seq: 2, depth: 5 };
      const body: EventBody = { type: 'thought', text: said, depth: 0 };
      const line = encodeEvent({ seq, at: 10, session: 'ses_a', turn: 1, cause }, body);
      await appendCommitted(writer, { expectedSeq: seq - 1, events: [line] });
    }
    await writer.release();
    return { store, clock };
  }

  it('is one append as long as it fits into one, and may be longer', async () => {
    const { store, clock } = await longStage();
    const parts: number[] = [];
    const counted: Store = {
      ...store,
      begin(stream, head) {
        const { writer: own, made } = store.begin(stream, head);
        const append: typeof own.append = (given, then) => {
          parts.push(given.events.length);
          own.append(given, then);
        };
        return { writer: { ...own, append }, made };
      },
    };
    await forkSession(counted, 'ses_a', 14, 'ses_c', clock);
    expect(parts.splice(0)).toEqual([17]);
    await forkSession(counted, 'ses_a', 15, 'ses_b', clock);
    expect(parts).toEqual([14, 4]);
    const forked = await readEvents(store, 'ses_b');
    expect(forked.map(({ seq }) => seq)).toEqual(Array.from({ length: 18 }, (_, index) => index + 1));
    expect(forked[14]).toMatchObject({ type: 'thought', text: said });
  });

  /** There is no room for its second part; `whileHalf` is called in between. */
  const fullStore = (store: Store, whileHalf = async () => {}): Store => ({
    ...store,
    begin(stream, head) {
      const { writer, made } = store.begin(stream, head);
      const append: typeof writer.append = (given, settled) => {
        const full = new RuntimeError('store_full', 'The disk is full.', { hint: 'Free some space.' });
        if (given.expectedSeq === 0) writer.append(given, settled);
        else void whileHalf().then(() => settled(full));
      };
      return { writer: { ...writer, append }, made };
    },
  });

  it('that is longer can be taken by nobody before it is whole, and is gone where that fails', async () => {
    const { store, clock } = await longStage();
    let taken: unknown;
    const whileHalf = async () => {
      taken = await store.acquire('ses_b').catch((thrown) => thrown);
    };
    const forking = forkSession(fullStore(store, whileHalf), 'ses_a', 15, 'ses_b', clock);
    await expect(forking).rejects.toMatchObject({
      code: 'store_full',
      message: 'The disk is full.',
      hint: 'Free some space.',
    });
    expect(taken).toMatchObject({ code: 'stream_restoring' });
    expect(await store.info('ses_b')).toBeUndefined();
    expect(await forkSession(store, 'ses_a', 15, 'ses_b', clock)).toBe('ses_b');
    expect(await store.info('ses_b')).toMatchObject({ status: 'interrupted', head: 18 });
  });

  it('that failed half-way and cannot be taken out is named, cannot be worked on, and is pruned', async () => {
    const { store, clock } = await longStage();
    const remove = () => Promise.reject(new RuntimeError('store_full', 'The disk is full.'));
    const full: Store = { ...fullStore(store), upkeep: { ...store.upkeep, remove } };
    await expect(forkSession(full, 'ses_a', 15, 'ses_b', clock)).rejects.toMatchObject({
      code: 'store_full',
      message: 'The disk is full. An unusable part of the fork is left as ses_b.',
      hint: expect.stringMatching(/^Free some space\. Then fork again\. .*"telltale store prune"/),
    });
    await expect(store.acquire('ses_b')).rejects.toMatchObject({ code: 'stream_restoring' });
    const { faults } = await checkStore(store);
    expect(faults.filter(({ stream }) => stream === 'ses_b')).toMatchObject([
      { grade: 'note', found: expect.stringContaining('the fork that was to make it') },
    ]);
    const rules = { now: clock.now(), olderThanMs: 0, statuses: ['restoring'] };
    const pruned = async (older = rules) => (await pruneStore(store, { rules: older })).trees;
    expect(await pruned({ ...rules, olderThanMs: 1 })).toBe(0);
    await setCopyMarker(store, { from: 'sqlite:x.db', merge: false });
    expect(await pruned()).toBe(0); // it may be one that the copy goes on with
    await clearCopyMarker(store);
    expect(await pruned()).toBe(1);
    expect(await store.info('ses_b')).toBeUndefined();
  });

  it('is there although letting go of it found no room', async () => {
    const { store, clock } = await stage();
    const full: Store = {
      ...store,
      begin(stream, head) {
        const { writer, made } = store.begin(stream, head);
        const release = () => Promise.reject(new RuntimeError('store_full', 'The disk is full.'));
        return { writer: { ...writer, release }, made };
      },
    };
    expect(await forkSession(full, 'ses_a', 9, 'ses_b', clock)).toBe('ses_b');
    expect(await readEvents(store, 'ses_b')).toHaveLength(12);
  });

  it('is not put over another: that stays as it is', async () => {
    const { store, fork } = await stage();
    await fork(1);
    await expect(fork(2)).rejects.toMatchObject({ code: 'stream_exists' });
    expect((await readEvents(store, 'ses_b')).map(({ type }) => type)).toEqual(['session.started', 'audit']);
  });
});

describe('a message for a session that has completed', () => {
  it('is refused, and does not lie in its inbox', async () => {
    const { store } = await stage();
    await expect(sendSteer(store, 'ses_a', 'Wait.')).rejects.toMatchObject({ code: 'session_completed' });
    expect(await store.upkeep.inbox('ses_a')).toEqual([]);
  });
});
