import type { Clock } from '../../kernel/clock.ts';
import type { Migration } from './schema/migrations.ts';

export interface PostgresStoreOptions {
  /** `postgres://USER:PASSWORD@HOST:PORT/DATABASE`; of its parameters `schema`, `fleet` and `lease` are ours, the others `pg`'s. */
  readonly url: string;
  readonly clock: Pick<Clock, 'now'>;
  /** `power` (the default) survives the plug of the database's machine, `process` only its programs' deaths. */
  readonly durability?: 'power' | 'process';
  readonly pid?: number;
  /** Used where there is no /proc to read it from. */
  readonly processStartedAt?: number;
  /**
   * The SQLite file of the knowledge graphs. They are about folders of this machine, so they stay on it; and in a place
   * that lasts, since what agents have learned is in it and nowhere else.
   */
  readonly graphs: string;
  readonly timing?: Partial<PostgresTiming>;
  /** Refuses with `store_empty` where there is none, instead of making one: for who only looks. */
  readonly mustExist?: boolean;
  /** For tests: never gives a sign of life, so that the others take it for dead. */
  readonly isMute?: boolean;
  /** For tests: what this version knows of the schema. */
  readonly migrations?: readonly Migration[];
}

export interface PostgresTiming {
  /** Between signs of life. */
  readonly beatMs: number;
  /** Without one for so long an owner is dead. */
  readonly leaseMs: number;
  /** How late something is noticed whose poke was lost. */
  readonly lookMs: number;
  /** How long a database that went away is waited for before requests fail with `store_unreachable`. */
  readonly patienceMs: number;
  /** How long an answer is waited for before the connection is taken for dead. */
  readonly answerMs: number;
}

const USUAL: PostgresTiming = {
  beatMs: 1_500,
  leaseMs: 7_500,
  lookMs: 2_000,
  patienceMs: 15_000,
  answerMs: 30_000,
};
export const USUAL_LEASE_MS = USUAL.leaseMs;

/** Of five signs of life four may be late. */
const leaseOf = (leaseMs: number | undefined): Partial<PostgresTiming> =>
  leaseMs === undefined ? {} : { leaseMs, beatMs: leaseMs / 5 };

/** By the lease of the fleet, and before it what a caller says. */
export const timingOf = (
  leaseMs: number | undefined,
  given: Partial<PostgresTiming> = {},
): PostgresTiming => ({
  ...USUAL,
  ...leaseOf(leaseMs),
  ...given,
});
