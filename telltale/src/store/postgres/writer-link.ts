import type { Client, Pool, QueryArrayConfig, QueryArrayResult, QueryResult } from 'pg';
import type { DecodeAnswer } from './group/decode-answer.ts';
import { type PostgresClients, setHeld } from './postgres-clients.ts';
import { isBroken } from './postgres-errors.ts';

/**
 * The one connection over which a store writes. A call is numbered: where the connection breaks before its answer is
 * there, it is sent again over the next one with the same number, and the database tells whether it was done
 * (`schema/write-group.ts`). So an answer is always true: what is answered was done once, and what fails with
 * `store_unreachable`, because the database stayed away for longer than it is waited for, may or may not have been done.
 * A writer then goes on from the last event that it knows to be committed, and the fence refuses it if there are more.
 */
export interface WriterLink {
  call(values: readonly unknown[]): Promise<DecodeAnswer | null>;
  /** The process stays for what is under way; or not. */
  hold(held: boolean): void;
  close(): Promise<void>;
}

export interface WriterLinkDeps {
  readonly clients: PostgresClients;
  readonly schema: string;
  readonly durability: 'power' | 'process';
  readonly patience: Patience;
}

/** Of `write_group_1`, the store's id and the number among them. */
const PARAMETERS = 25;
/** For others' locks: a transaction of ours never holds one for longer than a commit takes. */
const LOCK_TIMEOUT_MS = 30_000;

/**
 * Appends find their heads by the key, however small the tables were when the plan was made: it is kept for as long as
 * the connection, and one that reads a small table from end to end would do so with a large one.
 */
const settingsFor = (durability: 'power' | 'process') =>
  `SET synchronous_commit = ${durability === 'power' ? 'on' : 'off'};
  SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_bitmapscan = off;
  SET lock_timeout = ${LOCK_TIMEOUT_MS};`;

export function createWriterLink({ clients, schema, durability, patience }: WriterLinkDeps): WriterLink {
  const query = {
    name: 'telltale_write_group_1',
    text: `SELECT "${schema}".write_group_1(${Array.from({ length: PARAMETERS }, (_, n) => `$${n + 1}`).join(', ')})`,
    rowMode: 'array' as const,
  };
  let client: Client | undefined;
  let isHeld = false;

  const connect = async (): Promise<Client> => {
    const made = await clients.connect(settingsFor(durability));
    made.on('end', () => {
      if (client === made) client = undefined;
    });
    setHeld(made, isHeld);
    client = made;
    return made;
  };
  const drop = (broken: Client) => {
    if (client === broken) client = undefined;
    broken.end().catch(() => undefined); // it is broken already
  };

  return {
    async call(values) {
      return patiently(patience, async () => {
        const over = client ?? (await connect());
        try {
          const { rows } = await over.query<[DecodeAnswer | null]>({ ...query, values: [...values] });
          return rows[0]?.[0] ?? null;
        } catch (error) {
          if (isBroken(error)) drop(over);
          throw error;
        }
      });
    },
    hold(held) {
      isHeld = held;
      if (client !== undefined) setHeld(client, held);
    },
    async close() {
      await client?.end();
    },
  };
}

/** Asks over any connection, and again over another where that one breaks: for what is safe to do twice. */
export type Ask = (text: string, values?: readonly unknown[]) => Promise<QueryResult>;

export const createAsk =
  (pool: Pool, patience: Patience): Ask =>
  (text, values = []) =>
    patiently(patience, () => pool.query(text, [...values]));

/** A statement that is parsed once a connection; rows come as arrays. */
export type AskPrepared = (name: string, text: string, values: readonly unknown[]) => Promise<readonly Row[]>;

export type Row = readonly unknown[];

export const createAskPrepared =
  (pool: Pool, patience: Patience, answerMs?: number): AskPrepared =>
  async (name, text, values) => {
    const time = answerMs === undefined ? {} : { query_timeout: answerMs };
    const config: QueryArrayConfig = {
      ...time,
      name: `telltale_${name}`,
      text,
      values: [...values],
      rowMode: 'array',
    };
    const { rows } = await patiently<QueryArrayResult<unknown[]>>(patience, () => pool.query(config));
    return rows;
  };

/** How long a database that went away is waited for, and how the waits between attempts grow. */
export interface Patience {
  readonly patienceMs: number;
  /** Ends all waiting with this error. */
  readonly given: () => unknown;
  /** Before the first: the attempt that has just failed may have met a connection that was cut, no server that is down. */
  readonly pause: (ms: number) => Promise<void>;
}

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1_000;

/**
 * Tries until it works, fails for another reason than a broken connection, or the patience is at an end: then with the
 * last reason. What is tried must be safe to do twice.
 */
export async function patiently<T>(
  { patienceMs, given, pause }: Patience,
  attempt: () => Promise<T>,
): Promise<T> {
  let deadline: number | undefined;
  for (let wait = FIRST_PAUSE_MS; ; wait = Math.min(wait * 2, LONGEST_PAUSE_MS)) {
    try {
      return await attempt();
    } catch (error) {
      if (!isBroken(error)) throw error;
      deadline ??= performance.now() + patienceMs;
      if (performance.now() + wait > deadline) throw error;
    }
    // Not all at once: a server that comes up again is asked by the whole fleet.
    await pause(wait * (0.5 + Math.random() / 2));
    const why = given();
    if (why !== undefined) throw why;
  }
}
