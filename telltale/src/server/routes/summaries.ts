import type { Runtime } from '../../agent/runtime-types.ts';
import type { Page } from '../../client/api.ts';
import { codeIn, type QuarantinedWork } from '../../cluster/fleet.ts';
import type { Clock } from '../../lib/clock.ts';
import { decodeEvent } from '../../log/codec.ts';
import type { SessionEvent } from '../../log/event.ts';
import { decodeRunEvent } from '../../log/run-codec.ts';
import type { RunEvent } from '../../log/run-event.ts';
import {
  emptyRunSummary,
  foldRunSummary,
  RUN_SUMMARY_TYPES,
  type RunSummary,
} from '../../log/run-summary.ts';
import {
  emptySummary,
  foldSummary,
  type QuarantineNote,
  type SessionSummary,
  SUMMARY_TYPES,
} from '../../log/session-summary.ts';
import { hasEnded, QUARANTINED, readQuarantine } from '../../store/quarantine.ts';
import type { Store, StreamFilter, StreamInfo } from '../../store/store.ts';
import { type AskedPage, numberPlace, pageOf } from './operation.ts';

/** Summaries of sessions and runs for lists, cached by stream, so that only new events are read. */
export interface Summaries {
  session(info: StreamInfo): Promise<SessionSummary>;
  run(info: StreamInfo): Promise<RunSummary>;
}

/** The most summaries cached of each kind, a few KB each. */
const MAX_KEPT = 2_000;
/** The most lines read at a time. */
const PAGE = 5_000;

export function createSummaries(store: Pick<Store, 'read'>, quarantines: Pick<Quarantines, 'of'>): Summaries {
  const session = createShelf<SessionSummary, SessionEvent>(store, {
    empty: ({ stream, name, title, createdAt, updatedAt }) => ({
      ...emptySummary(stream),
      agent: name,
      title,
      startedAt: createdAt,
      updatedAt,
    }),
    types: SUMMARY_TYPES,
    decode: decodeEvent,
    fold: foldSummary,
  });
  const run = createShelf<RunSummary, RunEvent>(store, {
    empty: ({ stream, name, createdAt, updatedAt }) => ({
      ...emptyRunSummary(stream),
      workflow: name,
      startedAt: createdAt,
      updatedAt,
    }),
    types: RUN_SUMMARY_TYPES,
    decode: decodeRunEvent,
    fold: foldRunSummary,
  });
  const shown = async <Summary>(folded: Promise<Summary>, info: StreamInfo) => {
    const [summary, quarantine] = await Promise.all([folded, quarantines.of(info)]);
    return quarantine === undefined ? summary : { ...summary, status: 'quarantined' as const, quarantine };
  };
  return {
    session: (info) => shown(session(info), info),
    run: (info) => shown(run(info), info),
  };
}

interface Folding<Summary, Event> {
  /** The summary of a stream without events. */
  readonly empty: (info: StreamInfo) => Summary;
  readonly types: ReadonlySet<string>;
  readonly decode: (line: string, stream: string) => Event;
  readonly fold: (before: Summary, event: Event) => Summary;
}

function createShelf<Summary extends { readonly seq: number }, Event>(
  store: Pick<Store, 'read'>,
  { empty, types, decode, fold }: Folding<Summary, Event>,
): (info: StreamInfo) => Promise<Summary> {
  /** By stream, least recently used first. Concurrent requests share one read. */
  const kept = new Map<string, Promise<Summary>>();

  const goOn = async ({ stream, head }: StreamInfo, known: Summary): Promise<Summary> => {
    let summary = known;
    while (summary.seq < head) {
      const lines = await store.read(stream, { from: summary.seq + 1, limit: PAGE });
      // Most of a log is model output, which no list shows. Such lines are not even parsed, except for the last, which
      // gives the position.
      for (const [index, line] of lines.entries())
        if (index === lines.length - 1 || types.has(typeOf(line)))
          summary = fold(summary, decode(line, stream));
      if (lines.length === 0) break;
    }
    return summary;
  };

  return (info) => {
    const { stream } = info;
    const before = kept.get(stream) ?? Promise.resolve(empty(info));
    const after = before.then(
      (known) => goOn(info, known),
      () => goOn(info, empty(info)),
    );
    kept.delete(stream);
    kept.set(stream, after);
    after.catch(() => {
      if (kept.get(stream) === after) kept.delete(stream);
    });
    const [oldest] = kept.keys();
    if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
    return after;
  };
}

const TYPE = '"type":"';

/** The type of an encoded event. Its header has no other such key, and quotes inside texts are escaped. */
function typeOf(line: string): string {
  const from = line.indexOf(TYPE) + TYPE.length;
  return line.slice(from, line.indexOf('"', from));
}

/** A page of sessions or runs, newest first. */
export async function listStreams<Summary>(
  store: Store,
  asked: AskedPage,
  filter: StreamFilter & { readonly kind: StreamInfo['kind'] },
  quarantines: Quarantines,
  summaryOf: (info: StreamInfo) => Promise<Summary>,
): Promise<Page<Summary>> {
  // The store does not know what a fleet has quarantined. There it still has the status from before.
  const aside = filter.status === undefined ? [] : await quarantines.inFleet();
  const isAside = new Set(aside.map(({ stream }) => stream));
  const added = filter.status?.includes(QUARANTINED) === true ? aside.filter(matching(filter)) : [];
  const { items, next } = await pageOf(
    asked,
    numberPlace,
    async (behind, limit) => {
      const listed = await store.list({
        ...filter,
        limit: limit + aside.length,
        ...(behind === undefined ? {} : { before: { place: behind[0] } }),
      });
      return [
        ...listed.filter(({ stream }) => !isAside.has(stream)),
        ...added.filter(({ place }) => behind === undefined || place < behind[0]),
      ]
        .sort((one, other) => other.place - one.place)
        .slice(0, limit);
    },
    ({ place }) => [place] as [number],
  );
  return { items: await Promise.all(items.map(summaryOf)), ...(next === undefined ? {} : { next }) };
}

const matching =
  ({ kind, name, parent }: StreamFilter) =>
  (info: StreamInfo): boolean =>
    (kind === undefined || info.kind === kind) &&
    (name === undefined || info.name === name) &&
    (parent === undefined || info.parent === parent);

/** How long one look at the fleet is cached. */
const FRESH_MS = 1_000;

/**
 * Knows which sessions and runs are quarantined, and why: by the store, or because no worker of the fleet can continue
 * them.
 */
export class Quarantines {
  readonly #runtime: Pick<Runtime, 'store' | 'fleet'>;
  readonly #clock: Pick<Clock, 'monotonic'>;
  #looked: { readonly at: number; readonly aside: Promise<ReadonlyMap<string, QuarantinedWork>> } | undefined;

  constructor(runtime: Pick<Runtime, 'store' | 'fleet'>, clock: Pick<Clock, 'monotonic'>) {
    this.#runtime = runtime;
    this.#clock = clock;
  }

  /** Why a stream is quarantined. Undefined if it is not. */
  async of(info: StreamInfo): Promise<QuarantineNote | undefined> {
    if (info.status === QUARANTINED) {
      const noted = await readQuarantine(this.#runtime.store, info.stream);
      return { why: noted?.why ?? UNKNOWN, at: noted?.at ?? info.updatedAt, release: 'resume' };
    }
    if (this.#runtime.fleet === undefined || info.owner !== undefined || hasEnded(info)) return undefined;
    const aside = (await this.#aside()).get(info.stream);
    if (aside === undefined) return undefined;
    const code = codeIn(aside.why);
    return { why: aside.why, at: aside.at, release: 'retry', ...(code === undefined ? {} : { code }) };
  }

  /** The streams that no worker of the fleet could continue. Their status in the store is different. */
  async inFleet(): Promise<readonly StreamInfo[]> {
    if (this.#runtime.fleet === undefined) return [];
    const aside = [...(await this.#aside()).keys()];
    const infos = await Promise.all(aside.map((stream) => this.#runtime.store.info(stream)));
    return infos.filter(
      (info): info is StreamInfo => info !== undefined && info.owner === undefined && !hasEnded(info),
    );
  }

  #aside(): Promise<ReadonlyMap<string, QuarantinedWork>> {
    const now = this.#clock.monotonic();
    if (this.#looked === undefined || now - this.#looked.at >= FRESH_MS) {
      const aside = this.#look();
      const looked = { at: now, aside };
      this.#looked = looked;
      aside.catch(() => {
        if (this.#looked === looked) this.#looked = undefined; // the next request looks again
      });
    }
    return this.#looked.aside;
  }

  async #look(): Promise<ReadonlyMap<string, QuarantinedWork>> {
    const status = await this.#runtime.fleet?.status();
    return new Map(status?.laidAside.map((aside) => [aside.stream, aside]));
  }
}

const UNKNOWN = 'The reason is unknown.';
