import type { Json } from '../lib/json.ts';
import type { GraphStore } from './graph.ts';
import type { SharedStore } from './shared-store.ts';
import type {
  InboxMessage,
  NewStream,
  StoredSnapshot,
  StreamHead,
  StreamInfo,
  StreamWriter,
  TableWrite,
  TimedWrite,
} from './stream.ts';
import type { Upkeep } from './upkeep/upkeep.ts';

export type {
  Append,
  InboxMessage,
  NewStream,
  StoredSnapshot,
  StreamHead,
  StreamInfo,
  StreamOwner,
  StreamWriter,
  TableWrite,
  TimedWrite,
} from './stream.ts';

export interface StreamFilter {
  readonly kind?: 'session' | 'run';
  readonly status?: readonly string[];
  /** The agent or workflow. */
  readonly name?: string;
  /** Only those that this stream called or set off. */
  readonly parent?: string;
  /** Only those that were made before this one, which may be gone meanwhile: its place says enough. */
  readonly before?: Pick<StreamInfo, 'place'>;
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
   * and whatever is asked of the store later finds it. The stream is there with the first of these appends, or not at all.
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
  /**
   * Adds to a number (0 if there is none) and gives the new one; atomic over processes. Adds nothing and rejects with
   * `not_a_number` where there is something else, or the sum is none, and with `not_exact` where that of whole numbers would
   * be another one, or one of the two would be lost in it.
   */
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
