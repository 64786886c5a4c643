import type { RuntimeError } from '../lib/errors.ts';
import type { Json } from '../lib/json.ts';

/** What is known of a stream without reading it. */
export interface StreamInfo {
  readonly stream: string;
  /** Where it stands among the streams of its store, in the order in which they were made there. */
  readonly place: number;
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
  /** Encoded events (`log/codec.ts`), one line each, in order, the first with seq `expectedSeq + 1`. */
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
  /**
   * Calls back when it is time to append what has gathered: before the store writes next, and before all that is asked of
   * it from now on, also in the middle of what would be one append; at the end of the microtask where that is urgent, behind
   * all that were before it. Absent where an append is best made at once.
   */
  whenDue?(handOver: () => void, isUrgent?: boolean): void;
  /** Keeps a snapshot that stands for all events up to `seq`. Queued in order behind the appends before it. */
  snapshot(seq: number, body: string): void;
  /** Messages that wait, in order. */
  inbox(): Promise<readonly InboxMessage[]>;
  /** Calls `wake` whenever a message may have come. The returned function ends it. */
  onWake(wake: () => void): () => void;
  /** Gives the stream up, after what is queued, and in one commit with it. Where that failed, it is tried again. */
  release(): Promise<void>;
}

/** A stream that is on its way into the store. */
export interface NewStream {
  /** Appends of it may be made at once. All are refused, with the same reason, where the stream could not be made. */
  readonly writer: StreamWriter;
  /** Resolves after the stream's commit; rejects where it, or the first append that comes with it, is refused or fails. */
  readonly made: Promise<void>;
}

export interface StoredSnapshot {
  readonly seq: number;
  readonly body: string;
}
