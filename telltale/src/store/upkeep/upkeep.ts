import type { Json } from '../../lib/json.ts';
import type { InboxMessage, StreamOwner, StreamWriter } from '../stream.ts';

/**
 * The status of a stream that is being put into a store from elsewhere, until `settle` gives it its own. Nobody but who
 * restores it can take it, so half a log is never worked on.
 */
export const RESTORING = 'restoring';

/** What moving, checking and pruning a store needs beyond what sessions do. The same in every home. */
export interface Upkeep {
  /** What it is, and how much is in it. */
  describe(): Promise<StoreDescription>;
  /** As `Store.acquire`, and also a stream that is being restored, to go on with that or to take it out. */
  acquire(stream: string): Promise<StreamWriter>;
  /** Committed events from `from` on, about a megabyte of them. */
  page(stream: string, from: number): Promise<EventPage>;
  /** Messages that wait in a stream's inbox, in order, whoever owns it. */
  inbox(stream: string): Promise<readonly InboxMessage[]>;
  /** How many bytes the stream's events, snapshots and messages are. */
  weigh(stream: string): Promise<number>;
  /**
   * Makes a stream that the writer of this epoch has filled what it was elsewhere, and gives it up; in one transaction.
   * Refused with `stream_lost` where another has it.
   */
  settle(stream: string, epoch: number, as: SettledStream): Promise<void>;
  /** Takes out a stream that the writer of this epoch owns, with all that belongs to it. Refused as `settle` is. */
  remove(stream: string, epoch: number): Promise<void>;
  /** Rows of all tables by table and key, in the order of their UTF-8, those behind `after`; none that are over. */
  rows(options: {
    readonly after?: Pick<TableRow, 'table' | 'key'>;
    readonly limit: number;
  }): Promise<readonly TableRow[]>;
  /** Names of lists, in order, those behind `after`. */
  lists(options: { readonly after?: string; readonly limit: number }): Promise<readonly string[]>;
  /** Adds entries to a list with the times that they had, all or none: `list_moved` where it does not end before `first`. */
  enter(list: string, first: number, entries: readonly Omit<ListEntry, 'n'>[]): Promise<void>;
  /** What is wrong with how the home keeps things, whether or not reading a stream would show it. */
  examine(): Promise<readonly UpkeepFault[]>;
  /** Compares each event with the checksum that was written with it. */
  checksums(): Promise<ChecksumReport>;
  /** Gives back the space of what was taken out, where nobody else is at work and there is enough of it. */
  compact(): Promise<Compacted>;
}

export interface StoreDescription {
  readonly kind: 'memory' | 'sqlite' | 'postgres';
  /** Of the schema; 0 where there is none. */
  readonly version: number;
  /** That it takes on disk, and how much of that is free for what comes; 0 in memory. */
  readonly bytes: number;
  readonly freeBytes: number;
  readonly sessions: number;
  readonly runs: number;
  readonly events: number;
  /** Messages that wait. */
  readonly messages: number;
  /** Rows of tables, and how many tables they are in. */
  readonly rows: number;
  readonly tables: number;
  readonly lists: number;
  readonly entries: number;
  /** Whether there are knowledge graphs to ask for. */
  readonly graphs: boolean;
  /** Who is noted as an owner of streams. */
  readonly owners: readonly DescribedOwner[];
}

export interface DescribedOwner extends Pick<StreamOwner, 'pid' | 'startedAt'> {
  readonly alive: boolean;
  /** How many streams are his. */
  readonly streams: number;
}

export interface EventPage {
  readonly events: readonly string[];
  /** Where the next page begins; absent at the end. */
  readonly next?: number;
}

export interface SettledStream {
  readonly status: string;
  readonly due?: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** In the place of those that wait; they get ids of their own. */
  readonly messages: readonly Omit<InboxMessage, 'id'>[];
}

export interface TableRow {
  readonly table: string;
  readonly key: string;
  readonly value: Json;
  readonly expiresAt?: number;
}

export interface ListEntry {
  readonly n: number;
  readonly at: number;
  readonly value: Json;
}

/** Something that is not as it has to be. */
export interface UpkeepFault {
  /** `note`: nothing is lost by it. */
  readonly grade: 'damage' | 'note';
  readonly stream?: string;
  readonly seq?: number;
  readonly found: string;
  readonly hint: string;
}

export interface ChecksumReport {
  /** Events that are not what was written; the first of them where there are many. */
  readonly changed: readonly { readonly stream: string; readonly seq: number }[];
  /** Events without a checksum, from a version that wrote none. */
  readonly uncovered: number;
}

export interface Compacted {
  readonly beforeBytes: number;
  readonly afterBytes: number;
  /** Why nothing was given back: too little is free, others are at work, or the home does it by itself. */
  readonly left?: 'little' | 'in_use' | 'by_itself';
}
