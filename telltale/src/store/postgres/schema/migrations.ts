import { CHECKSUMS } from './checksums.ts';
import { DEATHS } from './deaths.ts';
import { FLEET_QUERIES } from './fleet-queries.ts';
import { LEASES } from './leases.ts';
import { STREAM_WRITES } from './stream-writes.ts';
import { EXACT_COUNTS, TABLE_WRITES } from './table-writes.ts';
import { FIRST } from './tables.ts';
import { UPKEEP_WRITES } from './upkeep-writes.ts';
import { WRITE_GROUP } from './write-group.ts';

export interface Migration {
  /** `{S}` stands for the schema, quoted. */
  readonly sql: string;
  /**
   * The oldest version of the schema that a process may know and still work on what this leaves. A migration that only
   * adds keeps that of the one before, so that old and new processes run side by side while a fleet is updated. What a
   * function does is never changed: its successor has the next number in its name, and both stay. `EXACT_COUNTS` alone
   * replaces one, with one that refuses more, in an answer that is known to all.
   */
  readonly compatible: number;
}

/** The n-th brings a store from version n to n + 1. Only ever add to the end. */
export const MIGRATIONS: readonly Migration[] = [
  {
    sql: `${FIRST}${TABLE_WRITES}${STREAM_WRITES}${UPKEEP_WRITES}${WRITE_GROUP}${FLEET_QUERIES}`,
    compatible: 1,
  },
  { sql: `${DEATHS}${LEASES}`, compatible: 1 },
  { sql: EXACT_COUNTS, compatible: 1 },
  { sql: CHECKSUMS, compatible: 1 },
];

/** What marks a schema as ours. */
export const PRODUCT = 'telltale';

export const META = `
CREATE TABLE {S}.meta (
  product text PRIMARY KEY,
  version integer NOT NULL,
  compatible integer NOT NULL,
  fleet text NOT NULL
);
`;
