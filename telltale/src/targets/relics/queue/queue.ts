import type { Json } from '../../../kernel/json.ts';

export interface QueueItem {
  /** Its place in the order of pushes. */
  readonly n: number;
  readonly value: Json;
  readonly pushedAt: number;
  /** How often it was claimed, this time included. */
  readonly tries: number;
}

export interface ClaimedItem extends QueueItem {
  readonly lease: string;
  /** When it is given to others again, unless it is acknowledged before. */
  readonly until: number;
}

export interface QueueSize {
  readonly ready: number;
  readonly leased: number;
  readonly delayed: number;
}

/**
 * A queue in a table of the store: first in, first out among what is ready. Every step is one exchange of the table, so
 * that several processes on one store never get the same item at once, and none is lost by a crash in between.
 */
export interface Queue {
  /** `key`: what was pushed under it before is not pushed again. */
  push(
    value: Json,
    key: string,
    delayMs: number,
  ): Promise<{ readonly n: number; readonly duplicate: boolean }>;
  /** `lease` names the claim: the same again gives the same item again. */
  claim(lease: string, leaseMs: number): Promise<ClaimedItem | undefined>;
  /** Takes an item off for good. */
  pop(): Promise<QueueItem | undefined>;
  ack(lease: string): Promise<void>;
  release(lease: string, delayMs: number): Promise<void>;
  /** When the lease now ends. */
  extend(lease: string, leaseMs: number): Promise<number>;
  peek(limit: number, maxChars: number): Promise<readonly QueueItem[]>;
  size(): Promise<QueueSize>;
  /** Removes what nobody holds and says how many that were. */
  clear(): Promise<number>;
}
