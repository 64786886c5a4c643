import { decodeEvent } from '../../events/codec.ts';
import type { SessionEvent } from '../../events/event.ts';
import { decodeRunEvent } from '../../events/run-codec.ts';
import type { RunEvent } from '../../events/run-event.ts';
import {
  emptyRunSummary,
  foldRunSummary,
  RUN_SUMMARY_TYPES,
  type RunSummary,
} from '../../events/run-summary.ts';
import {
  emptySummary,
  foldSummary,
  type SessionSummary,
  SUMMARY_TYPES,
} from '../../events/session-summary.ts';
import type { Store, StreamInfo } from '../../store/store.ts';
import type { Quarantines } from './quarantines.ts';

/** What lists say of sessions and runs, kept by stream: only what came since is read again. */
export interface Summaries {
  session(info: StreamInfo): Promise<SessionSummary>;
  run(info: StreamInfo): Promise<RunSummary>;
}

/** Summaries of either kind that are kept: a few KB each. */
const MAX_KEPT = 2_000;
/** Lines that are read at a time. */
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
  /** Of a stream that was made, and on which nothing is yet. */
  readonly empty: (info: StreamInfo) => Summary;
  readonly types: ReadonlySet<string>;
  readonly decode: (line: string, stream: string) => Event;
  readonly fold: (before: Summary, event: Event) => Summary;
}

function createShelf<Summary extends { readonly seq: number }, Event>(
  store: Pick<Store, 'read'>,
  { empty, types, decode, fold }: Folding<Summary, Event>,
): (info: StreamInfo) => Promise<Summary> {
  /** By stream, the one that was asked for last at the end. Requests at the same time share one reading. */
  const kept = new Map<string, Promise<Summary>>();

  const goOn = async ({ stream, head }: StreamInfo, known: Summary): Promise<Summary> => {
    let summary = known;
    while (summary.seq < head) {
      const lines = await store.read(stream, { from: summary.seq + 1, limit: PAGE });
      // Most of a log is speech, which no list shows: its lines are not even parsed, but for the last, which is the place.
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

/** The type of an encoded event: its head has no such key, and in texts the quotes are escaped. */
function typeOf(line: string): string {
  const from = line.indexOf(TYPE) + TYPE.length;
  return line.slice(from, line.indexOf('"', from));
}
