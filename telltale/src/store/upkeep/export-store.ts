import type { Json } from '../../lib/json.ts';
import { asBefore, QUARANTINE_TABLE } from '../quarantine.ts';
import type { Store, StreamInfo } from '../store.ts';
import { streamUnknown } from '../store-errors.ts';
import { exportTooLarge } from './append-committed.ts';
import {
  allLists,
  allRows,
  allStreams,
  createStreamHash,
  entryPages,
  eventPages,
  type StreamFront,
  treeOf,
} from './pages.ts';
import { RESTORING } from './upkeep.ts';

export interface ExportOptions {
  readonly now: number;
  /** Only these, each with all that it called, and no tables. */
  readonly streams?: readonly string[];
  /** Snapshots are left out: whoever resumes folds the log whole. */
  readonly withoutSnapshots?: boolean;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: ExportCounts) => void;
}

export interface ExportCounts {
  readonly streams: number;
  readonly events: number;
  readonly rows: number;
  readonly entries: number;
  /** Streams that are left out, because a copy or import of them was broken off. */
  readonly leftOut: number;
}

/** The store as lines of JSON, several to a piece. Streams that are being written end where they were when they came up. */
export async function* exportStore(store: Store, options: ExportOptions): AsyncGenerator<string, void> {
  const { now, streams, signal, onProgress = () => undefined } = options;
  const counts = { streams: 0, events: 0, rows: 0, entries: 0, leftOut: 0 };
  yield toLine({ telltale: HEADER, format: FORMAT, exported_at: new Date(now).toISOString() });
  for (const stream of streams === undefined
    ? await allStreams(store, signal)
    : await withCalled(store, streams)) {
    const found = await store.info(stream);
    if (found === undefined) continue; // taken out meanwhile
    const info = await asBefore(store, found);
    if (info.status === RESTORING) counts.leftOut++;
    else {
      for await (const { text, events } of exportStream(store, info, options)) {
        yield text;
        counts.events += events;
        onProgress(counts);
      }
      counts.streams++;
    }
    onProgress(counts);
  }
  if (streams === undefined)
    for await (const { text, rows, entries } of exportTables(store, signal)) {
      yield text;
      counts.rows += rows;
      counts.entries += entries;
      onProgress(counts);
    }
  const { streams: written, rows, entries } = counts;
  yield toLine({ done: { streams: written, rows, entries } });
}

async function withCalled(store: Store, asked: readonly string[]): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const stream of asked) {
    const info = await store.info(stream);
    if (info === undefined) throw streamUnknown(stream);
    const tree = await treeOf(store, info);
    if (tree === undefined) throw exportTooLarge(stream);
    for (const each of tree) found.add(each.stream);
  }
  return [...found];
}

async function* exportStream(
  store: Store,
  info: StreamInfo,
  { withoutSnapshots = false, signal }: ExportOptions,
): AsyncGenerator<{ readonly text: string; readonly events: number }, void> {
  const { stream, head } = info;
  const hash = createStreamHash(info);
  const [all, messages] = await Promise.all([store.snapshots(stream), store.upkeep.inbox(stream)]);
  const snapshots = withoutSnapshots ? [] : all.filter(({ seq }) => seq <= head);
  let text = toLine({ stream: streamLine(info) });
  let seq = 0;
  let next = 0;
  for await (const page of eventPages(store, stream, { through: head, signal })) {
    for (const line of page) {
      seq++;
      hash.event(line);
      text += eventLine(line);
      for (let at = snapshots[next]; at?.seq === seq; at = snapshots[++next]) {
        hash.snapshot(at);
        text += toLine({ snapshot: at });
      }
    }
    yield { text, events: page.length };
    text = '';
  }
  for (const message of messages) {
    const { id: _, ...rest } = message;
    hash.message(rest);
    text += toLine({ message: rest });
  }
  yield { text: `${text}${toLine({ end: { events: seq, sha256: hash.end() } })}`, events: 0 };
}

/** As it is on the log; what is no JSON could not stand in a line of it. */
function eventLine(line: string): string {
  try {
    JSON.parse(line);
    return `${EVENT_PREFIX}${line}}\n`;
  } catch {
    return toLine({ damaged: line });
  }
}

async function* exportTables(
  store: Store,
  signal: AbortSignal | undefined,
): AsyncGenerator<{ readonly text: string; readonly rows: number; readonly entries: number }, void> {
  for await (const { table, key, value, expiresAt } of allRows(store, signal)) {
    if (table === QUARANTINE_TABLE) continue; // the streams carry what they were before
    const row = { table, key, value, ...(expiresAt === undefined ? {} : { expires_at: expiresAt }) };
    yield { text: toLine({ row }), rows: 1, entries: 0 };
  }
  for await (const list of allLists(store, signal))
    for await (const page of entryPages(store, list, 0, signal)) {
      const lines = page.map(({ n, at, value }) => toLine({ entry: { list, n, at, value } }));
      yield { text: lines.join(''), rows: 0, entries: page.length };
    }
}

const toLine = (value: object): string => `${JSON.stringify(value)}\n`;

/**
 * The lines of an export, each a JSON object with one key, the header aside. A stream is a `stream` line, its events in
 * order (a snapshot stands behind the event that it stands for), its messages, and an `end`; rows and entries of tables
 * come behind the streams, and `done` is the last line. docs/store.md describes it for others: it only ever grows.
 */
export const FORMAT = 1;
export const HEADER = 'store';

/** What an event's line begins with; the event itself follows as it is on the log, and a brace. */
export const EVENT_PREFIX = '{"event":';

export interface StreamLine {
  readonly id: string;
  readonly kind: 'session' | 'run';
  readonly name: string;
  readonly title: string;
  readonly parent?: string;
  readonly status: string;
  readonly due?: number;
  readonly created_at: number;
  readonly updated_at: number;
}

export interface EndLine {
  readonly events: number;
  /** Of the stream as `hash-stream.ts` has it; not looked at where it is absent. */
  readonly sha256?: string;
}

export interface EntryLine {
  readonly list: string;
  readonly n: number;
  readonly at: number;
  readonly value: Json;
}

export interface DoneLine {
  readonly streams?: number;
  readonly rows?: number;
  readonly entries?: number;
}

const streamLine = (front: StreamFront): StreamLine => {
  const { stream, kind, name, title, parent, status, due, createdAt, updatedAt } = front;
  return {
    id: stream,
    kind,
    name,
    title,
    ...(parent === undefined ? {} : { parent }),
    status,
    ...(due === undefined ? {} : { due }),
    created_at: createdAt,
    updated_at: updatedAt,
  };
};

export const frontOf = (line: StreamLine): StreamFront => {
  const { id, kind, name, title, parent, status, due, created_at, updated_at } = line;
  return {
    stream: id,
    kind,
    name,
    title,
    ...(parent === undefined ? {} : { parent }),
    status,
    ...(due === undefined ? {} : { due }),
    createdAt: created_at,
    updatedAt: updated_at,
  };
};
