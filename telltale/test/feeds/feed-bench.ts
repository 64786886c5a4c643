import { createFeedKeeper } from '../../src/feeds/create-keeper.ts';
import type { Feed, FeedDeps, SharedValue, SourceCall } from '../../src/feeds/feed.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import type { EventBody, SessionEvent } from '../../src/log/event.ts';
import type { FeedNews } from '../../src/log/feed-event.ts';
import { fold, reduce } from '../../src/log/reduce.ts';
import { emptyState } from '../../src/log/state.ts';

/** A feed as the manifest's schema gives it, most of it as by default. */
export const feed = (id: string, more: Partial<Feed> = {}): Feed => ({
  id,
  type: 'on_demand',
  source: { type: 'tool', name: id, params: {} },
  cache_scope: 'session',
  enabled: 'true',
  transform: [],
  refs: [],
  inject: 'on_change',
  on_error: 'stale',
  ...more,
});

export const every = (ms: number, more: Partial<Feed> = {}): Partial<Feed> => ({
  type: 'periodic',
  interval: { ms },
  ...more,
});

export const params = (id: string, values: JsonObject): Pick<Feed, 'source'> => ({
  source: { type: 'tool', name: id, params: values },
});

export const failing = (code: string) => new RuntimeError(code, `It is ${code}.`, { retryable: true });

type Source = (call: SourceCall) => Promise<Json>;

export interface BenchOptions extends Partial<FeedDeps> {
  readonly log?: readonly SessionEvent[];
  readonly clock?: ReturnType<typeof createSimulatedClock>;
}

/** A keeper on a log of its own, with sources that the test sets by id; one that is not set never answers. */
export function benchOf(feeds: readonly Feed[], options: BenchOptions = {}) {
  const clock = options.clock ?? createSimulatedClock();
  const log: SessionEvent[] = [...(options.log ?? [])];
  const state = fold(log, emptyState());
  const sources = new Map<string, Source>();
  const calls: SourceCall[] = [];
  const shared = new Map<string, SharedValue>();
  const append = (body: EventBody) => {
    const turn = body.type === 'turn.started' ? state.turn + 1 : state.turn;
    const head = { seq: log.length + 1, at: clock.now(), session: 'ses_1', turn };
    const event = { ...body, ...head, cause: { stream: 'ses_1', seq: 0, depth: 0 } } as SessionEvent;
    log.push(structuredClone(event));
    reduce(state, event);
  };
  const deps: FeedDeps = {
    feeds,
    written: ({ id }) => ({ id, from: 'manifest' }),
    read: (written) => feed(String(written.id), written as Partial<Feed>),
    state,
    append,
    load: (call) => {
      calls.push(call);
      const source = sources.get(call.feed.id);
      return source === undefined ? new Promise(() => {}) : source(call);
    },
    prepare: async (_, value) => ({ value, tokens: JSON.stringify(value).length }),
    clock,
    random: () => 0,
    context: () => ({}),
    lookup: () => undefined,
    cache: {
      get: async (key) => shared.get(key),
      set: async (key, value) => {
        shared.set(key, value);
      },
    },
    deadlineMs: 5_000,
    shownTokens: 32_000,
    loadTimeoutMs: 60_000,
    ...options,
  };
  const keeper = createFeedKeeper(deps);
  return {
    keeper,
    clock,
    state,
    log,
    calls,
    shared,
    append,
    /** From now on the source answers so. */
    give(id: string, value: Json | Error | undefined) {
      sources.set(id, async () => {
        if (value instanceof Error) throw value;
        return value as Json;
      });
    },
    /** From now on it answers so after a while, unless it is stopped before. */
    giveAfter(id: string, ms: number, value: Json) {
      sources.set(
        id,
        ({ signal }) =>
          new Promise((resolve, reject) => {
            clock.after(ms, () => resolve(value));
            signal.addEventListener('abort', () => reject(signal.reason));
          }),
      );
    },
    source(id: string, source: Source) {
      sources.set(id, source);
    },
    callsOf: (id: string) => calls.filter((call) => call.feed.id === id).length,
    /** Events of feeds, from the given one on. */
    events: (from = 0) => log.slice(from).filter(({ type }) => type.startsWith('feed.')),
    /** A whole turn: what its block says of feeds. */
    async turn(waitMs = 0): Promise<readonly FeedNews[]> {
      const waiting = keeper.beforeTurn();
      if (waiting !== undefined) {
        await clock.advance(waitMs);
        await waiting;
      }
      const news = state.news.feeds ?? [];
      append({ type: 'turn.started', prompt: { tokens: 1, reused_prefix: 1 } });
      return news;
    },
  };
}

/** `a=1`, `b!timeout`: what was said, in short. */
export const inShort = (news: readonly FeedNews[]): readonly string[] =>
  news.map((one) =>
    one.kind === 'value' ? `${one.id}=${JSON.stringify(one.value)}` : `${one.id}!${one.error.code}`,
  );
