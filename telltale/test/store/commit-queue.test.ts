import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { CommitQueuePace } from '../../src/store/grouped/commit-queue.ts';
import { type CommitQueue, createCommitQueue } from '../../src/store/grouped/commit-queue.ts';
import { createGroupedWriter } from '../../src/store/grouped/grouped-writer.ts';
import type { ToBackend } from '../../src/store/grouped/messages.ts';
import { createWriterState, newWriterState, type WriterState } from '../../src/store/grouped/writer-state.ts';
import { createListeners } from '../../src/store/listeners.ts';
import { addToBatch, createStreamBatches } from '../../src/store/stream-batches.ts';
import { moreRuns } from '../more-runs.ts';

const WRITERS = 32;
const LAST_SEQ = 3;

const paceThat = (pays: boolean): CommitQueuePace => ({
  sent: () => undefined,
  landed: () => undefined,
  telling: () => undefined,
  answered: () => undefined,
  pays: () => pays,
});

/** Writers that each append again when they are told, until they have three events. Gives what happened, in order. */
async function appended(pays: boolean): Promise<readonly string[]> {
  const happened: string[] = [];
  const deps = {
    location: 'here',
    now: () => 0,
    hold: () => undefined,
    letGo: () => undefined,
    moved: () => undefined,
    post(message: ToBackend) {
      if (message.kind !== 'group') return;
      happened.push(`sent ${message.writes.length}`);
      setImmediate(() => setImmediate(() => queue.replied({ kind: 'committed' })));
    },
  };
  const queue = createCommitQueue(deps, paceThat(pays));
  const goOn = (writer: ReturnType<typeof createWriterState>): Promise<void> =>
    new Promise((resolve) =>
      queue.append(writer, { expectedSeq: writer.queued, events: ['{}'] }, () => {
        happened.push(`told ${writer.stream}`);
        resolve(writer.committed === LAST_SEQ ? undefined : goOn(writer));
      }),
    );
  const writers = Array.from({ length: WRITERS }, (_, n) =>
    createWriterState(`s${n}`, { id: n + 1, epoch: 1, head: 0 }),
  );
  await Promise.all(writers.map(goOn));
  return happened;
}

test('a stream that is begun is not sent before its first events, though others append before it', async () => {
  const groups: Extract<ToBackend, { kind: 'group' }>['writes'][] = [];
  const none = () => undefined;
  const post = (message: ToBackend) => void (message.kind === 'group' && groups.push(message.writes));
  const deps = { location: 'here', now: () => 0, hold: none, letGo: none, moved: none, post };
  const queue = createCommitQueue(deps, paceThat(false));
  const other = createWriterState('other', { id: 1, epoch: 1, head: 0 });
  const begun = newWriterState('begun');
  queue.append(other, { expectedSeq: 0, events: ['{}'] }, none);
  void queue.create(begun, { kind: 'session', name: 'n', status: 'running', title: '' }, setImmediate);
  queueMicrotask(() => queue.append(begun, { expectedSeq: 0, events: ['{"first":1}'] }, none));
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  expect(groups).toHaveLength(1);
  expect(groups[0]).toEqual([
    [1, 1, 0, 1, '{}', null, null, null, null],
    expect.objectContaining({
      op: 'create',
      stream: 'begun',
      first: [-2, 1, 0, 1, '{"first":1}', null, null, null, null],
    }),
  ]);
});

const sentIn = (happened: readonly string[]) => happened.filter((each) => each.startsWith('sent'));

test('where callers take longer than a commit, one half of them is told while what the other appends is written', async () => {
  const happened = await appended(true);
  const told = (from: number) => Array.from({ length: 16 }, (_, n) => `told s${n + from}`);
  expect(happened).toEqual([
    'sent 16',
    'sent 16',
    ...told(0),
    'sent 16',
    ...told(16),
    'sent 16',
    ...told(0),
    'sent 16',
    ...told(16),
    'sent 16',
    ...told(0),
    ...told(16),
  ]);
});

test('where a commit takes longer, all that are told share the next one', async () => {
  expect(sentIn(await appended(false))).toEqual(['sent 32', 'sent 32', 'sent 32']);
});

/** A queue whose groups are answered when `land` is called. */
function queueByHand(pays = false) {
  const groups: Extract<ToBackend, { kind: 'group' }>[] = [];
  const none = () => undefined;
  const post = (message: ToBackend) => void (message.kind === 'group' && groups.push(message));
  const deps = { location: 'here', now: () => 0, hold: none, letGo: none, moved: none, post };
  const queue = createCommitQueue(deps, paceThat(pays));
  const writer = (id: number) => createWriterState(`s${id}`, { id, epoch: 1, head: 0 });
  const bodies = () => groups.map(({ writes }) => writes.map((op) => (Array.isArray(op) ? op[4] : op)));
  return { queue, groups, writer, bodies, land: () => queue.replied({ kind: 'committed' }) };
}
const immediate = () => new Promise((resolve) => setImmediate(resolve));
const line = (queue: CommitQueue, writer: WriterState, text: string, told: () => void = () => {}) =>
  queue.append(writer, { expectedSeq: writer.queued, events: [text] }, told);

test('what gathers while a group is on its way is asked for once, when the next one is sent', async () => {
  const { queue, writer, bodies, land } = queueByHand();
  const [one, two] = [writer(1), writer(2)];
  line(queue, one, '{"a":1}');
  await immediate();
  const asked: string[] = [];
  queue.whenDue(() => {
    asked.push('two');
    line(queue, two, '{"b":1}');
  }, false);
  await immediate();
  expect(asked).toEqual([]);
  land();
  await immediate();
  expect(asked).toEqual(['two']);
  expect(bodies()).toEqual([['{"a":1}'], ['{"b":1}']]);
});

test('while nothing is on its way, what gathers is asked for at the end of the microtask', async () => {
  const { queue, writer, bodies } = queueByHand();
  const one = writer(1);
  queue.whenDue(() => line(queue, one, '{"a":1}'), false);
  await Promise.resolve();
  await Promise.resolve();
  expect(bodies()).toEqual([['{"a":1}']]);
});

test('what has gathered goes before what is asked of the store behind it', async () => {
  const { queue, writer, bodies, groups, land } = queueByHand();
  const one = writer(1);
  line(queue, one, '{"a":1}');
  await immediate();
  queue.whenDue(() => line(queue, one, '{"a":2}'), false);
  void queue.write({ op: 'release', stream: 1, epoch: 1 });
  void queue.read({ op: 'inbox', stream: 's1' });
  land();
  await immediate();
  expect(bodies()[1]).toEqual(['{"a":2}', { op: 'release', stream: 1, epoch: 1 }]);
  expect(groups[1]?.reads).toEqual([{ op: 'inbox', stream: 's1' }]);
});

test('what has gathered is written before a queue that is shut is idle', async () => {
  const { queue, writer, bodies, land } = queueByHand();
  const one = writer(1);
  line(queue, one, '{"a":1}');
  await immediate();
  const told: unknown[] = [];
  queue.whenDue(
    () => queue.append(one, { expectedSeq: 1, events: ['{"a":2}'] }, (error) => told.push(error)),
    false,
  );
  const shut = queue.shut(new RuntimeError('store_closed', 'closed'));
  land();
  await immediate();
  land();
  await shut;
  expect(bodies()).toEqual([['{"a":1}'], ['{"a":2}']]);
  expect(told).toEqual([undefined]);
});

test('what has gathered fails with the store, and its writer is told why', async () => {
  const { queue, writer } = queueByHand();
  const one = writer(1);
  line(queue, one, '{"a":1}');
  await immediate();
  const told: unknown[] = [];
  queue.whenDue(
    () => queue.append(one, { expectedSeq: 1, events: ['{"a":2}'] }, (error) => told.push(error)),
    false,
  );
  const gone = new RuntimeError('store_failed', 'gone');
  queue.fail(gone);
  expect(told).toEqual([gone]);
});

test('one who throws when he is asked for what has gathered keeps nobody from being written', async () => {
  const { queue, writer, bodies, land } = queueByHand();
  const [one, two] = [writer(1), writer(2)];
  const surfaced: unknown[] = [];
  const heard = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', (error) => surfaced.push(error));
  try {
    line(queue, one, '{"a":1}');
    await immediate();
    queue.whenDue(() => {
      throw new Error('his own bug');
    }, false);
    queue.whenDue(() => line(queue, two, '{"b":1}'), false);
    land();
    await immediate();
    await immediate();
  } finally {
    process.removeAllListeners('uncaughtException');
    for (const listener of heard) process.on('uncaughtException', listener);
  }
  expect(bodies()).toEqual([['{"a":1}'], ['{"b":1}']]);
  expect(surfaced).toEqual([new Error('his own bug')]);
});

test('what is urgent is handed over at the end of the microtask, behind all that gathered before it', async () => {
  const { queue, writer } = queueByHand();
  line(queue, writer(1), '{"a":1}');
  await immediate();
  const asked: string[] = [];
  queue.whenDue(() => asked.push('first'), false);
  queue.whenDue(() => asked.push('urgent'), true);
  queue.whenDue(() => asked.push('later'), false);
  await Promise.resolve();
  expect(asked.slice(0, 2)).toEqual(['first', 'urgent']);
});

test('a group that is read behind is not parted: reads come though new writes never stop', async () => {
  const { queue, groups, land } = queueByHand(true);
  const increment = () => void queue.write({ op: 'increment', table: 't', key: 'k', by: 1 }).then(increment);
  for (let each = 0; each < 40; each++) increment();
  const read = queue.read({ op: 'inbox', stream: 's1' });
  await immediate();
  expect(groups.map(({ writes, reads }) => [writes.length, reads.length])).toEqual([[40, 1]]);
  land();
  queue.replied({ kind: 'answers', outcomes: [{ value: [] }] });
  expect(await read).toEqual([]);
});

test('the end of a stream and letting go of it are not parted', async () => {
  const { queue, writer, bodies } = queueByHand(true);
  for (let id = 1; id <= 32; id++) {
    line(queue, writer(id), '{"last":1}');
    void queue.write({ op: 'release', stream: id, epoch: 1 });
  }
  await immediate();
  expect(bodies()[0]?.at(-1)).toMatchObject({ op: 'release' });
  expect(bodies()[0]).toHaveLength(32);
  const odd = queueByHand(true);
  line(odd.queue, odd.writer(99), '{"n":1}');
  for (let id = 1; id <= 32; id++) {
    line(odd.queue, odd.writer(id), '{"last":1}');
    void odd.queue.write({ op: 'release', stream: id, epoch: 1 });
  }
  await immediate();
  expect(odd.bodies()[0]).toHaveLength(33);
  expect(odd.bodies()[0]?.at(-1)).toMatchObject({ op: 'release' });
});

test('of a group that is parted, writers are told in the order of their appends', async () => {
  const { queue, writer, groups, land } = queueByHand(true);
  const writers = Array.from({ length: 32 }, (_, n) => writer(n + 1));
  const told: string[] = [];
  for (const each of writers) line(queue, each, '{"n":1}', () => void told.push(`${each.stream} 1`));
  // A write to a table stays apart: the writer's second append is an entry of its own, in the other half.
  const [first] = writers as [WriterState];
  const writes = [{ table: 't', key: 'k', value: 1 }];
  queue.append(first, { expectedSeq: 1, events: ['{"n":2}'], writes }, () => void told.push('s1 2'));
  queue.append(first, { expectedSeq: 2, events: ['{\n}'] }, (error) => void told.push(`s1 ${error?.code}`));
  await immediate();
  expect(groups.map(({ writes: sent }) => sent.length)).toEqual([16]);
  land();
  await immediate();
  expect(groups.map(({ writes: sent }) => sent.length)).toEqual([16, 17]);
  expect(told).toEqual(writers.slice(0, 16).map(({ stream }) => `${stream} 1`));
  land();
  await immediate();
  const rest = writers.slice(16).map(({ stream }) => `${stream} 1`);
  expect(told.slice(16)).toEqual([...rest, 's1 2', 's1 event_malformed']);
});

test('a queue that is shut is idle only when all have been told, also where one that was to be asked has nothing', async () => {
  const { queue, writer, land } = queueByHand(true);
  const told: string[] = [];
  const writers = Array.from({ length: 20 }, (_, n) => writer(n + 1));
  for (const each of writers) line(queue, each, '{"n":1}', () => void told.push(each.stream));
  await immediate();
  queue.whenDue(() => undefined, false); // his batch has left meanwhile
  const idle = queue.shut(new RuntimeError('store_closed', 'closed')).then(() => told.length);
  queue.whenDue(() => undefined, false);
  land();
  expect(await idle).toBe(20);
});

test('an append that fails at once is told behind the one before it, also where what has gathered is sent first', async () => {
  const { queue, writer, land } = queueByHand(true);
  const told: string[] = [];
  const one = writer(1);
  line(queue, one, '{"n":1}', () => void told.push('first'));
  await immediate();
  queue.whenDue(
    () =>
      queue.append(
        one,
        { expectedSeq: 1, events: ['{\n}'] },
        (error) => void told.push(`second ${error?.code}`),
      ),
    false,
  );
  land();
  await immediate();
  expect(told).toEqual(['first', 'second event_malformed']);
});

test('one of the second half that fails at once is told behind its append before', async () => {
  const { queue, writer, land } = queueByHand(true);
  const told: string[] = [];
  const writers = Array.from({ length: 16 }, (_, n) => writer(n + 1));
  for (const each of writers) line(queue, each, '{"n":1}', () => void told.push(`${each.stream} 1`));
  await immediate();
  land();
  expect(told).toHaveLength(8);
  const last = writers.at(-1) as WriterState;
  queue.append(last, { expectedSeq: 1, events: ['{\n}'] }, (error) => void told.push(`s16 ${error?.code}`));
  const read = queue.read({ op: 'info', stream: 's16' });
  await immediate();
  expect(told.slice(-2)).toEqual(['s16 1', 's16 event_malformed']);
  queue.replied({ kind: 'answers', outcomes: [{ value: null }] });
  expect(await read).toBeNull();
});

test('one who asks for something while half of a group is told has no second group sent while one is on its way', async () => {
  const { queue, groups, writer, land } = queueByHand(true);
  const told: string[] = [];
  const writers = Array.from({ length: 16 }, (_, n) => writer(n + 1));
  const [first] = writers as [WriterState];
  line(queue, first, '{"n":1}', async () => {
    told.push('s1');
    await queue.write({ op: 'increment', table: 't', key: 'k', by: 1 });
    told.push('counted');
  });
  line(queue, writers[1] as WriterState, '{"n":1}', async () => {
    told.push('s2');
    for (let turn = 0; turn < 5; turn++) await undefined;
    queue.whenDue(() => line(queue, first, '{"n":2}', () => void told.push('s1 again')), false);
  });
  for (const each of writers.slice(2)) line(queue, each, '{"n":1}', () => void told.push(each.stream));
  await immediate();
  land();
  await immediate();
  await immediate();
  expect(groups).toHaveLength(2); // the second is on its way
  expect(told).toEqual(writers.map(({ stream }) => stream));
  queue.replied({ kind: 'written', outcomes: [[0, { value: 1 }]] });
  await immediate();
  expect(told.slice(16).sort()).toEqual(['counted', 's1 again']);
});

test('where the thread ends while half of a group is told, the others hear of their commit before they hear of that', async () => {
  const { queue, writer, land } = queueByHand(true);
  const told: string[] = [];
  const writers = Array.from({ length: 16 }, (_, n) => writer(n + 1));
  for (const each of writers) line(queue, each, '{"n":1}', () => void told.push(each.stream));
  await immediate();
  land();
  expect(told).toHaveLength(8);
  const last = writers.at(-1) as WriterState;
  queue.append(last, { expectedSeq: 1, events: ['{}'] }, (error) => void told.push(`s16 ${error?.code}`));
  queue.fail(new RuntimeError('store_failed', 'ended'));
  expect(told).toEqual([...writers.map(({ stream }) => stream), 's16 store_failed']);
  await queue.shut(new RuntimeError('store_closed', 'closed'));
  expect(told).toHaveLength(17);
});

test('one who was told of a commit is not told again where the thread ends before it has answered what was read behind', async () => {
  const { queue, writer, land } = queueByHand();
  const [one, two] = [writer(1), writer(2)];
  const told: (string | undefined)[] = [];
  queue.append(one, { expectedSeq: 0, events: ['{}'] }, (error) => void told.push(error?.code));
  queue.append(two, { expectedSeq: 0, events: ['{\n}'] }, (error) => void told.push(error?.code));
  const read = queue.read({ op: 'inbox', stream: 's1' });
  await immediate();
  land();
  expect(told).toEqual([undefined, 'event_malformed']);
  queue.fail(new RuntimeError('store_failed', 'ended'));
  await expect(read).rejects.toMatchObject({ code: 'store_failed' });
  expect(told).toEqual([undefined, 'event_malformed']);
});

test('one who has nothing when he is asked, and is to be asked again, is', async () => {
  const { queue, writer, bodies, land } = queueByHand();
  const one = writer(1);
  line(queue, one, '{"a":1}');
  await immediate();
  queue.whenDue(() => queue.whenDue(() => line(queue, one, '{"a":2}'), false), false);
  land();
  await immediate();
  await immediate();
  expect(bodies()).toEqual([['{"a":1}'], ['{"a":2}']]);
});

/** What a log adds in one go, and how long it then waits: for nothing, for a microtask, for what comes next. */
const go = fc.record({
  log: fc.nat({ max: 39 }),
  events: fc.array(fc.record({ long: fc.boolean(), writes: fc.boolean() }), { minLength: 1, maxLength: 4 }),
  pause: fc.constantFrom(...Array<'none'>(100).fill('none'), 'microtask', 'immediate'),
});

test('what a log adds in one go is in one group, and in its order, however groups are parted', async () => {
  let parted = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(go, { minLength: 60, maxLength: 200 }), async (goes) => {
      const groups: string[][] = [];
      const none = () => undefined;
      const post = (message: ToBackend) => {
        if (message.kind !== 'group') return;
        const bodies = message.writes.flatMap((write) => ('op' in write ? [] : write[4].split('\n')));
        groups.push(bodies.map((body) => body.slice(0, body.indexOf(' '))));
        setImmediate(() => queue.replied({ kind: 'committed' }));
      };
      const deps = { location: 'here', now: () => 0, hold: none, letGo: none, moved: none, post };
      const queue = createCommitQueue(deps, paceThat(true));
      const logs = Array.from({ length: 40 }, (_, n) =>
        createStreamBatches<undefined, { seq: number; type: string }>({
          owner: undefined,
          calls: { status: () => 'running', onCommitted: none, onLost: none },
          writer: createGroupedWriter({
            queue,
            state: createWriterState(`s${n}`, { id: n + 1, epoch: 1, head: 0 }),
            wakers: createListeners(none, none),
          }),
          seq: 0,
        }),
      );
      const added = logs.map((): string[] => []);
      for (const [place, { log, events, pause }] of goes.entries()) {
        const batches = logs[log];
        const own = added[log];
        if (batches === undefined || own === undefined) continue;
        for (const { long, writes } of events) {
          const name = `${log}:${place}:${own.length}`;
          const seq = own.push(name);
          const line = `${name} ${'x'.repeat(long ? 20_000 : 10)}`;
          const beside = { writes: [{ table: 't', key: name, value: seq }] };
          addToBatch(batches, { seq, type: 'e' }, seq, line, writes ? beside : undefined);
        }
        if (pause === 'microtask') await undefined;
        if (pause === 'immediate') await immediate();
      }
      await immediate();
      await queue.shut(new RuntimeError('store_closed', 'closed'));
      // Nobody was told meanwhile: that there are two is because they were parted.
      if (groups.length > 1 && goes.every(({ pause }) => pause === 'none')) parted++;
      const all = groups.flat();
      for (const [log, own] of added.entries())
        expect(all.filter((name) => name.startsWith(`${log}:`))).toEqual(own);
      const groupsOf = (place: number) =>
        groups.filter((group) => group.some((name) => name.split(':')[1] === `${place}`));
      for (const place of goes.keys()) expect(groupsOf(place)).toHaveLength(1);
    }),
    { numRuns: moreRuns(100) },
  );
  expect(parted).toBeGreaterThan(0);
});
