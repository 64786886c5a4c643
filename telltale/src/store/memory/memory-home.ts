import type { GraphStore } from '../graph.ts';
import { createListeners, type Listeners } from '../listeners.ts';
import type { InboxMessage, StoredSnapshot, StreamHead, StreamOwner } from '../store.ts';
import type { MemoryRows } from './memory-rows.ts';

/** A stream and all that belongs to it. */
export interface MemoryStream {
  readonly stream: string;
  readonly place: number;
  readonly head: StreamHead;
  createdAt: number;
  status: string;
  due: number | undefined;
  updatedAt: number;
  epoch: number;
  owner: StreamOwner | undefined;
  readonly events: MemoryRows;
  snapshots: StoredSnapshot[];
  inbox: InboxMessage[];
}

export interface MemoryValue {
  readonly json: string;
  readonly expiresAt: number | undefined;
}

export interface MemoryEntry {
  readonly n: number;
  readonly at: number;
  readonly json: string;
}

/** What outlives a store in memory: a second one on the same home finds everything, as after a restart. */
export interface MemoryHome {
  readonly streams: Map<string, MemoryStream>;
  readonly tables: Map<string, Map<string, MemoryValue>>;
  readonly lists: Map<string, MemoryEntry[]>;
  readonly wakers: Listeners<string>;
  readonly watchers: Listeners<string>;
  /** The place of the newest stream. */
  places: number;
  /** The id of the newest message. */
  messages: number;
  /** Its graphs, once they were asked for. */
  graphs: Promise<GraphStore> | undefined;
}

export function createMemoryHome(): MemoryHome {
  const nothing = () => undefined;
  return {
    streams: new Map(),
    tables: new Map(),
    lists: new Map(),
    wakers: createListeners(nothing, nothing),
    watchers: createListeners(nothing, nothing),
    places: 0,
    messages: 0,
    graphs: undefined,
  };
}
