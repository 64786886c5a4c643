import type { SharedSlots } from '../../shared-store.ts';
import type { Ask } from '../ask.ts';
import { isContended, sqlState } from '../describe-postgres-failure.ts';
import { keyLock } from '../group/key-lock.ts';
import type { Ownership } from '../ownership.ts';
import type { Wire } from '../wire/wire.ts';

export interface SlotsDeps {
  readonly ask: Ask;
  readonly schema: string;
  readonly ownership: Ownership;
  readonly leaseMs: number;
  readonly wire: Wire;
  readonly guard: <T>(work: () => Promise<T>) => Promise<T>;
}

const FREE = 'f:';
const OWNER_GONE = 'TT001';
const MAX_TRIES = 5;
/** Slots are taken one after the other for each key; the lock is not that of a table's key. */
const LOCKS = '\0slots';

export function createSlots({ ask, schema, ownership, leaseMs, wire, guard }: SlotsDeps): SharedSlots {
  const takeOnce = async (key: string, max: number, holder: string): Promise<boolean> => {
    const lock = keyLock(schema, LOCKS, key).toString();
    const values = [lock, key, max, holder, await ownership.claim(), leaseMs];
    const { rows } = await ask(`SELECT "${schema}".take_slot_1($1, $2, $3, $4, $5, $6) AS taken`, values);
    return rows[0].taken === true;
  };

  /** Permits that were given here and not given back, by key and holder. */
  const held = new Map<string, readonly [key: string, holder: string]>();
  const nameOf = (key: string, holder: string) => JSON.stringify([key, holder]);
  // Whoever was taken for dead lost them, and what they are for goes on: they count again, also where that is one too many.
  ownership.onClaimedAgain(async (id) => {
    const all = [...held.values()];
    if (all.length === 0) return;
    await ask(
      `INSERT INTO "${schema}".slots (key, holder, owner) SELECT h.key, h.holder, $3 FROM unnest($1::text[], $2::text[]) AS h(key, holder)
        ON CONFLICT (key, holder) DO UPDATE SET owner = excluded.owner`,
      [all.map(([key]) => key), all.map(([, holder]) => holder), id],
    );
  });

  return {
    take: (key, max, holder) =>
      guard(async () => {
        for (let left = MAX_TRIES; ; left--) {
          try {
            // Twice is as good as once: the holder is the same.
            const isTaken = await takeOnce(key, max, holder);
            if (isTaken) held.set(nameOf(key, holder), [key, holder]);
            return isTaken;
          } catch (error) {
            if (left === 0) throw error;
            if (sqlState(error) === OWNER_GONE) ownership.gone();
            else if (!isContended(error)) throw error;
          }
        }
      }),
    free: (key, holder) =>
      guard(async () => {
        held.delete(nameOf(key, holder));
        await ask(`DELETE FROM "${schema}".slots WHERE key = $1 AND holder = $2`, [key, holder]);
        wire.ring(FREE + key);
      }),
    onFree: (key, moved) => wire.topics.add(FREE + key, moved),
  };
}
