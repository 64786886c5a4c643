import type { Json } from '../../kernel/json.ts';
import type { StreamFront } from './hash-stream.ts';

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

export const streamLine = (front: StreamFront): StreamLine => {
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
