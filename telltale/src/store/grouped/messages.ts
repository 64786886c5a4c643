import type { ErrorJson } from '../../lib/errors.ts';
import type { StreamHead } from '../store.ts';
import type { ChecksumReport, Compacted, StoreDescription, UpkeepFault } from '../upkeep/upkeep.ts';

/** What passes between a store and what keeps it: the thread that has a file open, or the connections of a database. */

/** Table, key, JSON; null deletes, or is expected not to be there. */
export type EncodedWrite = readonly [table: string, key: string, value: string | null];

/**
 * A tuple, because the keys of an object would cost more to copy than what they name. The stream -1 - N is the one
 * that the write at place N of the same group makes.
 */
export type AppendOp = readonly [
  stream: number,
  epoch: number,
  expectedSeq: number,
  count: number,
  body: string,
  status: string | null,
  consumed: readonly number[] | null,
  writes: readonly EncodedWrite[] | null,
  /** With a status; null for none. */
  due: number | null,
];

export type WriteRequest =
  /** `first`: the stream's first events, which are there with it, or neither is. */
  | {
      readonly op: 'create';
      readonly stream: string;
      readonly head: StreamHead;
      readonly first: AppendOp | null;
    }
  /** `dead`: the owner that was found dead and may be put aside. `restoring`: also where it is being restored. */
  | {
      readonly op: 'acquire';
      readonly stream: string;
      readonly dead: number | null;
      readonly restoring: boolean;
    }
  /** Gives up all streams of an owner that was found dead. */
  | { readonly op: 'dissolve'; readonly owner: number }
  | { readonly op: 'release'; readonly stream: number; readonly epoch: number }
  | {
      readonly op: 'snapshot';
      readonly stream: number;
      readonly epoch: number;
      readonly seq: number;
      readonly body: string;
    }
  | { readonly op: 'send'; readonly stream: string; readonly message: string }
  | {
      readonly op: 'set';
      readonly table: string;
      readonly key: string;
      readonly value: string;
      readonly expiresAt: number | null;
    }
  | { readonly op: 'delete'; readonly table: string; readonly key: string }
  | { readonly op: 'increment'; readonly table: string; readonly key: string; readonly by: number }
  | {
      readonly op: 'exchange';
      readonly expected: readonly EncodedWrite[];
      readonly writes: readonly (readonly [...EncodedWrite, expiresAt: number | null])[];
    }
  | { readonly op: 'push'; readonly list: string; readonly value: string }
  | {
      readonly op: 'settle';
      readonly stream: string;
      readonly epoch: number;
      readonly status: string;
      readonly due: number | null;
      readonly createdAt: number;
      readonly updatedAt: number;
      readonly messages: readonly (readonly [at: number, message: string])[];
    }
  | { readonly op: 'remove'; readonly stream: string; readonly epoch: number }
  | {
      readonly op: 'enter';
      readonly list: string;
      readonly first: number;
      readonly entries: readonly (readonly [at: number, value: string])[];
    };

export type ReadRequest =
  | { readonly op: 'read'; readonly stream: string; readonly from: number; readonly limit: number }
  | { readonly op: 'snapshots'; readonly stream: string }
  | { readonly op: 'info'; readonly stream: string }
  | {
      readonly op: 'list';
      readonly kind: string | null;
      readonly status: readonly string[] | null;
      readonly name: string | null;
      readonly parent: string | null;
      /** The row of the stream before. */
      readonly before: number | null;
      readonly limit: number;
    }
  | { readonly op: 'owners' }
  | { readonly op: 'inbox'; readonly stream: string }
  | { readonly op: 'get'; readonly table: string; readonly key: string }
  | {
      readonly op: 'keys';
      readonly table: string;
      readonly prefix: string;
      readonly after: string;
      readonly limit: number;
    }
  | {
      readonly op: 'entries';
      readonly list: string;
      readonly after: number;
      readonly last: number | null;
      readonly limit: number;
    }
  | { readonly op: 'describe' }
  | { readonly op: 'weigh'; readonly stream: string }
  | {
      readonly op: 'rows';
      readonly after: readonly [table: string, key: string] | null;
      readonly limit: number;
    }
  | { readonly op: 'lists'; readonly after: string; readonly limit: number }
  | { readonly op: 'examine' }
  | { readonly op: 'checksums' }
  /** Not in a transaction. */
  | { readonly op: 'compact' };

export type ListRequest = Extract<ReadRequest, { readonly op: 'list' }>;

/** Whoever is noted as a stream's owner; whether he lives is not decided in the thread. */
export interface NotedOwner {
  readonly id: number;
  readonly pid: number;
  readonly startedAt: number;
  readonly place: string;
  readonly beatAgeMs: number;
  readonly epoch: number;
}

export interface Taken {
  readonly id: number;
  readonly epoch: number;
  readonly head: number;
}

export interface ListedStream extends StreamHead {
  readonly id: number;
  readonly stream: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly head: number;
  readonly owner: NotedOwner | null;
  readonly messages?: number;
  readonly due?: number;
}

export interface StoredRow {
  readonly table: string;
  readonly key: string;
  readonly value: string;
  readonly expiresAt: number | null;
}

/** A description without what only the store's view can say: who is alive. */
export interface Described extends Omit<StoreDescription, 'owners'> {
  readonly owners: readonly { readonly owner: NotedOwner; readonly streams: number }[];
}

export interface ReadChunk {
  /** The seq of the first event in `bodies`. */
  readonly first: number;
  readonly bodies: readonly string[];
  /** Where the next chunk begins; null where the stream or the limit ends. */
  readonly next: number | null;
}

export interface Results {
  readonly create: Taken;
  readonly acquire: Taken | { readonly ownedBy: NotedOwner };
  readonly dissolve: null;
  readonly owners: readonly NotedOwner[];
  readonly release: null;
  readonly snapshot: null;
  readonly send: number;
  readonly set: null;
  readonly delete: boolean;
  readonly increment: number;
  readonly exchange: boolean;
  readonly push: number;
  readonly settle: null;
  readonly remove: null;
  readonly enter: null;
  readonly describe: Described;
  readonly weigh: number;
  readonly rows: readonly StoredRow[];
  readonly lists: readonly string[];
  readonly examine: readonly UpkeepFault[];
  readonly checksums: ChecksumReport;
  readonly compact: Compacted;
  readonly read: ReadChunk;
  readonly snapshots: readonly { readonly seq: number; readonly body: string }[];
  readonly info: ListedStream | null;
  readonly list: readonly ListedStream[];
  readonly inbox: readonly { readonly id: number; readonly at: number; readonly message: string }[];
  readonly get: string | null;
  readonly keys: readonly string[];
  readonly entries: readonly { readonly n: number; readonly at: number; readonly value: string }[];
}

export type Outcome = { readonly value: Results[keyof Results] } | { readonly error: ErrorJson };

/** `later`: the read is under way, and sees all writes before it; those behind it need not wait for it. */
export type ReadOutcome = Outcome | { readonly later: Promise<Results[ReadRequest['op']]> };

export type ToBackend =
  | {
      readonly kind: 'group';
      readonly now: number;
      readonly writes: readonly (AppendOp | WriteRequest)[];
      readonly reads: readonly ReadRequest[];
    }
  | { readonly kind: 'watch'; readonly stream: string; readonly on: boolean }
  | { readonly kind: 'close' };

export type FromBackend =
  | { readonly kind: 'opened' }
  | { readonly kind: 'refused'; readonly error: ErrorJson }
  /** A whole group is committed, and there is nothing to say but that: all appends went through. `ms`: how long it took. */
  | { readonly kind: 'committed'; readonly ms?: number }
  /** By place in the group; an append that went through is left out. */
  | {
      readonly kind: 'written';
      readonly outcomes: readonly (readonly [number, Outcome])[];
      readonly ms?: number;
    }
  /** Nothing of the group was written. */
  | { readonly kind: 'failed'; readonly error: ErrorJson }
  | { readonly kind: 'answers'; readonly outcomes: readonly ReadOutcome[] }
  | { readonly kind: 'moved'; readonly streams: readonly string[] }
  | { readonly kind: 'woken'; readonly streams: readonly string[] }
  /** With an error, everything is written, but the streams could not be given up: they are free when this process ends. */
  | { readonly kind: 'closed'; readonly error?: ErrorJson };
