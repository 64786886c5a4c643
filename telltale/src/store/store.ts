import type { Json } from '../kernel/json.ts';
import type { RuntimeError } from '../kernel/runtime-error.ts';
import type { GraphStore } from './graph.ts';
import type { SharedStore } from './shared-store.ts';
import type { Upkeep } from './upkeep/upkeep.ts';

/** What is known of a stream without reading it. */
export interface StreamInfo {
  readonly stream: string;
  /** What it is a log of. */
  readonly kind: 'session' | 'run';
  /** The agent or workflow. */
  readonly name: string;
  /** `running`, `waiting`, or how it ended. */
  readonly status: string;
  readonly title: string;
  readonly parent?: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The seq of the last event; 0 if there is none. */
  readonly head: number;
  /** Who is writing it now, if anybody is alive. */
  readonly owner?: StreamOwner;
  /** How many messages wait in its inbox; absent where none does. */
  readonly messages?: number;
  /** When it is to be worked on again, where it waits for a time. */
  readonly due?: number;
}

export interface StreamOwner {
  readonly pid: number;
  /** Tells apart two processes that were given the same pid. */
  readonly startedAt: number;
  readonly epoch: number;
}

/** What a new stream is called; the changeable part may be given anew with any append. */
export interface StreamHead {
  readonly kind: 'session' | 'run';
  readonly name: string;
  readonly status: string;
  readonly title: string;
  readonly parent?: string;
}

/** A message in a stream's durable inbox. */
export interface InboxMessage {
  readonly id: number;
  readonly at: number;
  /** What is asked: `steer`, `cancel`, `signal`, … */
  readonly kind: string;
  readonly from: string;
  readonly body: Json;
}

/** A write to a table, made in the same transaction as the events beside it. */
export interface TableWrite {
  readonly table: string;
  readonly key: string;
  /** Undefined deletes. */
  readonly value: Json | undefined;
}

export interface TimedWrite extends TableWrite {
  /** It is gone after that. */
  readonly ttlMs?: number;
}

export interface Append {
  /** The seq of the last event the writer knows of; refused if the stream has moved on. */
  readonly expectedSeq: number;
  /** Encoded events (`events/codec.ts`), one line each, in order, the first with seq `expectedSeq + 1`. */
  readonly events: readonly string[];
  readonly status?: string;
  /** With a status: when the stream is to be worked on again. A status without it is one that waits for no time. */
  readonly due?: number;
  /** Inbox messages that these events stand for: removed in the same transaction. */
  readonly consumed?: readonly number[];
  readonly writes?: readonly TableWrite[];
}

/** The one writer of a stream, fenced by an epoch. */
export interface StreamWriter {
  readonly stream: string;
  readonly epoch: number;
  /** The seq of the last event when the stream was taken. */
  readonly head: number;
  /**
   * Queues the append in order and returns at once; `settled` is called after the commit, or with the reason why the
   * append was refused (`stream_moved`, `stream_lost`) or failed (`store_full`, `store_failed`). After a refusal every
   * later append of this writer is refused, too. In a group commit a refused append fails alone.
   */
  append(append: Append, settled: (error?: RuntimeError) => void): void;
  /** Keeps a snapshot that stands for all events up to `seq`. Queued in order behind the appends before it. */
  snapshot(seq: number, body: string): void;
  /** Messages that wait, in order. */
  inbox(): Promise<readonly InboxMessage[]>;
  /** Calls `wake` whenever a message may have come. The returned function ends it. */
  onWake(wake: () => void): () => void;
  /** Gives the stream up, after what is queued has been written. */
  release(): Promise<void>;
}

/** A stream that is on its way into the store. */
export interface NewStream {
  /** Appends of it may be made at once. All are refused, with the same reason, where the stream could not be made. */
  readonly writer: StreamWriter;
  /** Resolves after the stream's commit; rejects where it is refused, or fails. */
  readonly made: Promise<void>;
}

export interface StoredSnapshot {
  readonly seq: number;
  readonly body: string;
}

export interface StreamFilter {
  readonly kind?: 'session' | 'run';
  readonly status?: readonly string[];
  /** The agent or workflow. */
  readonly name?: string;
  /** Only those that this stream called or set off. */
  readonly parent?: string;
  /** Only those that were made before this one, which may be gone meanwhile. */
  readonly before?: Pick<StreamInfo, 'stream' | 'createdAt'>;
  readonly limit?: number;
}

/** The log and its tables. One contract suite holds for every home of it. */
export interface Store {
  /** Where it lives, for messages: `sqlite:./telltale.db`, `memory`. */
  readonly location: string;
  /** Makes a stream and takes it. Refused if there is one of that name. */
  create(stream: string, head: StreamHead): Promise<StreamWriter>;
  /**
   * The same without waiting for it: what is appended in the same turn of the event loop is committed with the stream,
   * and whatever is asked of the store later finds it.
   */
  begin(stream: string, head: StreamHead): NewStream;
  /** Takes a stream that is there. Refused with `stream_owned`, naming the owner's pid, while its owner lives. */
  acquire(stream: string): Promise<StreamWriter>;
  /** Committed events, encoded, from `from` (default 1) on, `limit` at most; the first is of seq `from`. */
  read(
    stream: string,
    options?: { readonly from?: number; readonly limit?: number },
  ): Promise<readonly string[]>;
  /** The stream's snapshots, all of them, oldest first: each may hold only what changed since the one before. */
  snapshots(stream: string): Promise<readonly StoredSnapshot[]>;
  info(stream: string): Promise<StreamInfo | undefined>;
  /** Streams, newest first. */
  list(filter?: StreamFilter): Promise<readonly StreamInfo[]>;
  /** Puts a message into a stream's inbox and wakes its owner. Durable when it resolves. */
  send(stream: string, message: Omit<InboxMessage, 'id' | 'at'>): Promise<number>;
  /** Calls `moved` whenever a stream may have new committed events or messages, whoever wrote them. */
  watch(stream: string, moved: () => void): () => void;
  /** Tables beside the log: `kv`, `log` and `queue` relics, metadata of `scope: agent`. */
  readonly tables: Tables;
  /** The tables of knowledge graphs, opened when they are first asked for. */
  graphs(): Promise<GraphStore>;
  /** For what is done to a store as a whole: moving, checking, pruning. */
  readonly upkeep: Upkeep;
  /** Where several machines share it: PostgreSQL. */
  readonly shared?: SharedStore;
  /** Writes what is queued and closes. */
  close(): Promise<void>;
}

/** Small tables of JSON values by key, and append-only lists. */
export interface Tables {
  get(table: string, key: string): Promise<Json | undefined>;
  /** `ttlMs`: it is gone after that. */
  set(table: string, key: string, value: Json, options?: { readonly ttlMs?: number }): Promise<void>;
  /** Whether there was one. */
  delete(table: string, key: string): Promise<boolean>;
  /** Keys in order, those with `prefix` only, after `after`, `limit` at most. */
  keys(
    table: string,
    options?: { readonly prefix?: string; readonly after?: string; readonly limit?: number },
  ): Promise<readonly string[]>;
  /** Adds to a number (0 if there is none) and gives the new one; atomic over processes. */
  increment(table: string, key: string, by: number): Promise<number>;
  /**
   * Makes all writes at once if every key of `expected` still has the value that is given with it (undefined: none);
   * else makes none and gives false. Atomic over processes.
   */
  exchange(expected: readonly TableWrite[], writes: readonly TimedWrite[]): Promise<boolean>;
  /** Appends to a list and gives the entry's number, from 1 on. */
  push(list: string, value: Json): Promise<number>;
  /** Entries of a list: from `after` on, or the newest `last`. */
  entries(
    list: string,
    options?: { readonly after?: number; readonly last?: number; readonly limit?: number },
  ): Promise<readonly { readonly n: number; readonly at: number; readonly value: Json }[]>;
}
