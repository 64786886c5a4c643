import type { Client } from 'pg';
import type { PostgresAddress } from '../postgres-address.ts';
import { otherLease } from '../postgres-errors.ts';
import { PRODUCT } from './migrations.ts';
import { AGE_MS } from './stream-writes.ts';

/**
 * All of a fleet judge by the same lease, or those with a shorter one would bury the others. The database remembers it:
 * an address that names none gets that of the fleet (undefined: the usual one), and one that names another is refused
 * for as long as somebody goes by the old one.
 */
export async function agreeOnLease(
  client: Client,
  { schema, place, leaseMs: asked }: Pick<PostgresAddress, 'schema' | 'place' | 'leaseMs'>,
  usualMs: number,
): Promise<number | undefined> {
  const found = async () => {
    // As JSON, since a store of the first version has no such column.
    const sql = `SELECT (to_jsonb(m) ->> 'lease_ms')::bigint AS lease FROM "${schema}".meta m WHERE product = $1`;
    const { rows } = await client.query(sql, [PRODUCT]);
    const lease = rows[0]?.lease ?? null;
    return lease === null ? undefined : Number(lease);
  };
  const lease = await found();
  if (asked === undefined || asked === (lease ?? usualMs)) return lease;
  const { rowCount } = await client.query(
    `UPDATE "${schema}".meta SET lease_ms = $2 WHERE product = $1 AND NOT EXISTS (
      SELECT 1 FROM "${schema}".owners w WHERE w.gone_at IS NULL AND ${AGE_MS} <= greatest($2::bigint, coalesce(lease_ms, $3::bigint)))`,
    [PRODUCT, asked, usualMs],
  );
  if (rowCount === 1) return asked;
  throw otherLease(place, schema, (await found()) ?? usualMs, asked);
}
