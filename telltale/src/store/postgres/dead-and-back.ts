import type { Pool } from 'pg';
import type { OwnStreams } from './own-streams.ts';
import type { Ownership } from './ownership.ts';
import { type Patience, patiently } from './patience.ts';

export interface DeadAndBackDeps {
  readonly pool: Pool;
  readonly schema: string;
  readonly leaseMs: number;
  readonly patience: Patience;
  readonly ownership: Ownership;
  readonly own: Pick<OwnStreams, 'all'>;
}

/** Of a silence that nobody is taken for dead for. */
const NEVER_MS = 1e15;

/**
 * Whoever was taken for dead and is back owns again what nobody has taken. Gives what buries the dead, where this process
 * can tell who is.
 */
export function createDeadAndBack(deps: DeadAndBackDeps): () => Promise<void> {
  const { pool, schema, leaseMs, patience, ownership, own } = deps;
  ownership.onClaimedAgain(async (id) => {
    const held = own.all();
    await pool.query(
      `UPDATE "${schema}".heads h SET owner = $1 FROM (
        SELECT g.id FROM "${schema}".heads g JOIN unnest($2::bigint[], $3::bigint[]) AS o(id, epoch)
          ON g.id = o.id AND g.epoch = o.epoch WHERE NOT EXISTS (
            SELECT 1 FROM "${schema}".owners w WHERE w.id = g.owner AND w.gone_at IS NULL) ORDER BY g.id FOR UPDATE OF g
      ) own WHERE h.id = own.id`,
      [id, held.map(([stream]) => stream), held.map(([, epoch]) => epoch)],
    );
  });
  return async () => {
    // Asked anew at each try: between two of them it may have been cut off.
    await patiently(patience, () =>
      pool.query(`SELECT "${schema}".sweep_2($1, $2)`, [
        ownership.id,
        ownership.isSteady() ? leaseMs : NEVER_MS,
      ]),
    );
  };
}
