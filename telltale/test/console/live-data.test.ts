import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createConsoleData } from '../../../console/src/data/console-data.ts';
import { createLiveCollection, type LiveCollection } from '../../../console/src/data/live-collection.ts';
import { createLiveList } from '../../../console/src/data/live-list.ts';
import { createReviewInbox } from '../../../console/src/data/review-inbox.ts';
import type { ReviewDetailsInfo } from '../../src/client/api.ts';
import type { Followed, TelltaleClient } from '../../src/client/client.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { SessionEvent } from '../../src/log/event.ts';
import type { RunEvent } from '../../src/log/run-event.ts';
import { emptySummary, foldSummary, type SessionSummary } from '../../src/log/session-summary.ts';

const event = (session: string, seq: number, body: object, at = seq): SessionEvent =>
  ({ seq, at, session, turn: 0, cause: { stream: session, seq: 0, depth: 0 }, ...body }) as SessionEvent;

const started = (session: string, at = 1) =>
  event(session, 1, { type: 'session.started', agent: 'coder', input: session, model: 'm' }, at);

/** A log whose every event counts: what is folded twice or left out is seen in the sums. */
const logOf = (session: string, turns: number): readonly SessionEvent[] => [
  started(session),
  ...Array.from({ length: turns }, (_, n) =>
    event(session, n + 2, { type: 'turn.completed', usage: { input: 1, output: 10 ** 3 }, cost_usd: 1 }),
  ),
];

const folded = (log: readonly SessionEvent[]) => log.reduce(foldSummary, emptySummary(log[0]?.session ?? ''));

const collectionOf = (
  fetchOne: (id: string) => Promise<SessionSummary> = () => Promise.reject(Error('none')),
) =>
  createLiveCollection<SessionSummary, SessionEvent>({
    empty: emptySummary,
    fold: foldSummary,
    idOf: ({ session }: SessionEvent) => session,
    fetchOne,
    revives: ({ type }) => type === 'session.resumed',
    later: (run) => run(),
  });

const row = (id: string, startedAt: number, more: Partial<SessionSummary> = {}): SessionSummary => ({
  ...emptySummary(id),
  startedAt,
  seq: 1,
  ...more,
});

describe('summaries that are read and folded on', () => {
  test('an event counts once, wherever between the events of the stream the list was read', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: 12 }),
        fc.nat({ max: 12 }),
        fc.nat({ max: 12 }),
        async (turns, readAt, followedFrom) => {
          const log = logOf('ses_a', turns);
          const collection = collectionOf();
          // The stream begins before the list is read: everything behind what was read comes by it.
          const from = Math.min(followedFrom, readAt, log.length);
          const [before, during] = [log.slice(from, readAt), log.slice(Math.max(from, readAt))];
          await collection.load(async () => {
            for (const one of before) collection.accept(one);
            const read = folded(log.slice(0, Math.max(1, readAt)));
            for (const one of during) collection.accept(one);
            return [read];
          });
          expect(collection.find('ses_a')).toEqual(folded(log));
        },
      ),
    );
  });

  test('a session that begins while the page is open joins the rows, newest first', () => {
    const collection = collectionOf();
    collection.accept(started('ses_a', 1));
    collection.accept(started('ses_b', 2));
    expect(collection.rows.get().map(({ id }) => id)).toEqual(['ses_b', 'ses_a']);
  });

  test('what happens to a session that no list has shown is no row', () => {
    const collection = collectionOf();
    collection.accept(event('ses_old', 40, { type: 'session.waiting', for: 'message' }));
    expect(collection.rows.get()).toEqual([]);
  });

  test('an old session that is resumed is read, and joins', async () => {
    const collection = collectionOf(async (id) => row(id, 3, { seq: 41 }));
    collection.accept(event('ses_old', 40, { type: 'session.resumed', by: 'ann' }));
    await expect.poll(() => collection.find('ses_old')?.seq).toBe(41);
  });

  test('an older answer does not undo what events have told since', async () => {
    const collection = collectionOf();
    for (const one of logOf('ses_a', 3)) collection.accept(one);
    await collection.load(async () => [folded(logOf('ses_a', 1))]);
    expect(collection.find('ses_a')?.seq).toBe(4);
  });
});

describe('a list of pages', () => {
  const listOf = (pages: Readonly<Record<string, { ids: readonly number[]; next?: string }>>) => {
    const collection = collectionOf();
    const asked: (string | undefined)[] = [];
    const list = createLiveList<SessionSummary>({
      collection: collection as LiveCollection<SessionSummary, never>,
      async fetchPage(cursor) {
        asked.push(cursor);
        const page = pages[cursor ?? 'first'];
        if (page === undefined) throw new RuntimeError('store_gone', 'The store is away.');
        const items = page.ids.map((at) => row(`ses_${at}`, at));
        return page.next === undefined ? { items } : { items, next: page.next };
      },
      matches: ({ status }) => status === 'running',
    });
    return { collection, list, asked, ids: () => list.get().rows.map(({ startedAt }) => startedAt) };
  };

  test('what is older than the last page is not shown, since rows in between may be missing', async () => {
    const { collection, list, ids } = listOf({ first: { ids: [9, 8], next: 'b' } });
    await list.refresh();
    await collection.load(async () => [row('ses_2', 2)]);
    expect(ids()).toEqual([9, 8]);
    expect(list.get().more).toBe(true);
  });

  test('the last page shows all, and there is nothing more to load', async () => {
    const { list, ids } = listOf({ first: { ids: [9, 8], next: 'b' }, b: { ids: [7] } });
    await list.refresh();
    await list.loadMore();
    expect(ids()).toEqual([9, 8, 7]);
    expect(list.get().more).toBe(false);
  });

  test('after a broken connection it is read again as far as it had been', async () => {
    const pages = { first: { ids: [9, 8], next: 'b' }, b: { ids: [7, 6], next: 'c' }, c: { ids: [5] } };
    const { list, asked, ids } = listOf(pages);
    await list.refresh();
    await list.loadMore();
    await list.refresh();
    expect(asked).toEqual([undefined, 'b', undefined, 'b']);
    expect(ids()).toEqual([9, 8, 7, 6]);
  });

  test('rows leave it when they no longer match', async () => {
    const { collection, list, ids } = listOf({ first: { ids: [9, 8] } });
    await list.refresh();
    collection.accept(event('ses_9', 2, { type: 'session.completed', result: '' }, 10));
    expect(ids()).toEqual([8]);
  });

  test('a page that cannot be read leaves what is there, and says why', async () => {
    const { list, ids } = listOf({ first: { ids: [9], next: 'gone' } });
    await list.refresh();
    await list.loadMore();
    expect(ids()).toEqual([9]);
    expect(list.get()).toMatchObject({
      kind: 'ready',
      more: true,
      reading: false,
      error: { code: 'store_gone' },
    });
  });

  test('a first page that cannot be read is a failed list', async () => {
    const { list } = listOf({});
    await list.refresh();
    expect(list.get()).toMatchObject({ kind: 'failed', rows: [] });
  });
});

const review = (id: string, at = 1, more: Partial<ReviewDetailsInfo> = {}): ReviewDetailsInfo => ({
  review: id,
  kind: 'permission',
  of: 'session',
  session: 'ses_a',
  agent: 'coder',
  action: 'a1',
  target: 'tool "shell"',
  what: 'rm',
  because: 'ask',
  at,
  ...more,
});

const resolved = (id: string, by = 'ann') =>
  event('ses_a', 9, { type: 'review.resolved', review: id, answer: 'rejected', by, note: 'no' });

describe('the inbox', () => {
  const inboxOf = (more: Partial<TelltaleClient> = {}) => {
    const client = {
      reviews: async () => ({ items: [review('rev_1', 1)] }),
      review: async (id: string) => review(id, 2),
      ...more,
    };
    const inbox = createReviewInbox(client as unknown as TelltaleClient);
    return { inbox, open: () => inbox.get().open.map(({ review: id }) => id) };
  };

  test('a review that is requested appears behind those that have waited longer', async () => {
    const { inbox, open } = inboxOf();
    await inbox.refresh();
    inbox.accept(event('ses_a', 3, { type: 'review.requested', review: 'rev_2' }));
    await expect.poll(open).toEqual(['rev_1', 'rev_2']);
  });

  test('an answer that somebody else gave is shown with who and when', async () => {
    const { inbox, open } = inboxOf();
    await inbox.refresh();
    inbox.accept(resolved('rev_1'));
    expect(open()).toEqual([]);
    expect(inbox.get().answered[0]?.resolution).toEqual({ answer: 'rejected', by: 'ann', note: 'no', at: 9 });
  });

  test('what was answered while the list was read does not come back with it', async () => {
    const { inbox, open } = inboxOf({
      reviews: async () => {
        inbox.accept(resolved('rev_1'));
        return { items: [review('rev_1')] };
      },
    });
    await inbox.refresh();
    expect(open()).toEqual([]);
  });

  test('our own answer and the event that tells it are one answer', async () => {
    const { inbox } = inboxOf();
    await inbox.refresh();
    inbox.answered(review('rev_1', 1, { answer: 'approved', by: 'me', answeredAt: 5 }));
    inbox.accept(resolved('rev_1', 'me'));
    expect(inbox.get().answered.map(({ resolution }) => resolution.answer)).toEqual(['approved']);
  });

  test('what vanished from the list is asked about, and shown with how it was answered', async () => {
    let items = [review('rev_1')];
    const { inbox, open } = inboxOf({
      reviews: async () => ({ items }),
      review: async (id) => review(id, 1, { answer: 'approved', by: 'ann', answeredAt: 4 }),
    });
    await inbox.refresh();
    items = [];
    await inbox.refresh();
    expect(open()).toEqual([]);
    await expect.poll(() => inbox.get().answered[0]?.resolution.by).toBe('ann');
  });

  test('a run that ends leaves the reviews of its session alone', async () => {
    let reads = 0;
    const { inbox } = inboxOf({
      reviews: async () => {
        reads++;
        return { items: [review('rev_1')] };
      },
    });
    await inbox.refresh();
    inbox.accept(
      event('ses_a', 5, { type: 'workflow.completed', run: 'run_1', workflow: 'w', output: null }),
    );
    expect(reads).toBe(1);
  });

  test('a session that ends with an open review has it read again', async () => {
    let items = [review('rev_1')];
    const { inbox, open } = inboxOf({ reviews: async () => ({ items }) });
    await inbox.refresh();
    items = [];
    inbox.accept(event('ses_a', 5, { type: 'session.cancelled', reason: '', by: 'ann' }));
    await expect.poll(open).toEqual([]);
  });
});

describe('the connection', () => {
  const server = () => {
    let tell: (told: Followed<SessionEvent | RunEvent>) => void = () => undefined;
    const calls: string[] = [];
    const counted = <Value>(name: string, value: Value) => {
      calls.push(name);
      return Promise.resolve(value);
    };
    const client = {
      whoami: () => counted('whoami', { name: 'ann', role: 'run', version: '1', dev: false, store: 's' }),
      agents: () => counted('agents', { items: [] }),
      reviews: () => counted('reviews', { items: [] }),
      review: (id: string) =>
        counted('review', review(id, 1, { session: id === 'rev_seen' ? 'ses_seen' : 'ses_other' })),
      sessions: () => counted('sessions', { items: [row('ses_a', 1)] }),
      followAll(listener: typeof tell) {
        tell = listener;
        return () => undefined;
      },
    };
    const data = createConsoleData({
      client: client as unknown as TelltaleClient,
      clock: () => 1_000,
      isInView: ({ session }) => session === 'ses_seen',
    });
    data.start();
    return { data, calls, tell: (told: Parameters<typeof tell>[0]) => tell(told) };
  };
  const broken = { code: 'stream_broken', message: 'It broke.', retryable: true };

  test('a list is read once events come, and again when they come again', async () => {
    const { data, calls, tell } = server();
    const list = data.sessions.of({});
    data.sessions.attach(list);
    expect(calls).not.toContain('sessions');
    tell({ kind: 'open', after: 0 });
    await expect.poll(() => list.get().kind).toBe('ready');
    tell({ kind: 'lost', error: broken, retryInMs: 500 });
    expect(data.connection.get()).toEqual({ kind: 'lost', error: broken, retryAt: 1_500 });
    tell({ kind: 'open', after: 0 });
    await expect.poll(() => calls.filter((name) => name === 'sessions').length).toBe(2);
    expect(data.connection.get().kind).toBe('open');
  });

  test('a question is told of, unless the page that is open shows it', async () => {
    const { data, tell } = server();
    tell({ kind: 'open', after: 0 });
    await expect.poll(() => data.reviews.get().kind).toBe('ready');
    const asks = (session: string, id: string) =>
      tell({ kind: 'event', event: event(session, 3, { type: 'review.requested', review: id }) });
    asks('ses_seen', 'rev_seen');
    asks('ses_other', 'rev_other');
    await expect.poll(() => data.reviews.get().open.length).toBe(2);
    expect(data.toasts.get()).toMatchObject([{ path: '/reviews/rev_other' }]);
    // Once it is answered, there is nothing to go and see.
    const answer = { type: 'review.resolved', review: 'rev_other', answer: 'approved', by: 'ann' };
    tell({ kind: 'event', event: event('ses_other', 4, answer) });
    expect(data.toasts.get()).toEqual([]);
  });

  test('a list is read also where no events come', async () => {
    const { data, tell } = server();
    const list = data.sessions.of({});
    data.sessions.attach(list);
    tell({ kind: 'lost', error: broken, retryInMs: 500 });
    await expect.poll(() => list.get().rows.length).toBe(1);
  });

  test('a stream that is refused for want of a token asks for one, and names no time of a next try', () => {
    const { data, tell } = server();
    const error = { code: 'token_missing', message: 'No token.', retryable: false };
    tell({ kind: 'lost', error, retryInMs: Number.POSITIVE_INFINITY });
    expect(data.who.get()).toEqual({ kind: 'refused', error });
    expect(data.connection.get()).toMatchObject({ retryAt: undefined });
  });
});
