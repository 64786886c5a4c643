import { expect, test } from 'vitest';
import { createCommitQueue } from '../../src/store/grouped/commit-queue.ts';
import type { ToBackend } from '../../src/store/grouped/messages.ts';
import type { Pace } from '../../src/store/grouped/pace.ts';
import { createWriterState, newWriterState } from '../../src/store/grouped/writer-state.ts';

const WRITERS = 32;
const LAST_SEQ = 3;

const paceThat = (pays: boolean): Pace => ({
  sent: () => undefined,
  landed: () => undefined,
  telling: () => undefined,
  answered: () => undefined,
  pays: () => pays,
});

/** Writers that each append again when they are told, until they have three events. Gives what happened, in order. */
async function appended(pays: boolean): Promise<readonly string[]> {
  const happened: string[] = [];
  const edges = {
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
  const queue = createCommitQueue(edges, paceThat(pays));
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
  const edges = { location: 'here', now: () => 0, hold: none, letGo: none, moved: none, post };
  const queue = createCommitQueue(edges, paceThat(false));
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

test('where callers take longer than a commit, what half of them append is sent before the others are told', async () => {
  const happened = await appended(true);
  expect(happened[0]).toBe('sent 32');
  expect(happened[17]).toBe('sent 16');
  expect(happened.slice(1, 17)).toEqual(Array.from({ length: 16 }, (_, n) => `told s${n}`));
  expect(happened.slice(18, 34)).toEqual(Array.from({ length: 16 }, (_, n) => `told s${n + 16}`));
  expect(sentIn(happened)).toEqual(['sent 32', 'sent 16', 'sent 16', 'sent 16', 'sent 16']);
});

test('where a commit takes longer, all that are told share the next one', async () => {
  expect(sentIn(await appended(false))).toEqual(['sent 32', 'sent 32', 'sent 32']);
});
