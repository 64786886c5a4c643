import type { Clock } from '../../../kernel/clock.ts';
import type { LiveWire, SharedDatabase, SharedStore } from '../../shared-store.ts';
import type { Ask } from '../ask.ts';
import type { Ownership } from '../ownership.ts';
import type { PostgresAddress } from '../postgres-address.ts';
import type { Wire } from '../wire/wire.ts';
import { createSlots } from './slots.ts';
import { readWorkers } from './workers.ts';

export interface SharedDeps {
  readonly address: PostgresAddress;
  readonly ask: Ask;
  readonly ownership: Ownership;
  readonly leaseMs: number;
  readonly clock: Pick<Clock, 'now'>;
  readonly sweep: () => Promise<void>;
  readonly wire: Wire;
  readonly live: LiveWire;
  readonly database: SharedDatabase;
  /** Refuses when the store is closed, and names what goes wrong. */
  readonly guard: <T>(work: () => Promise<T>) => Promise<T>;
}

export const ORPHANS = 'o';

export function createSharedStore(deps: SharedDeps): SharedStore {
  const { address, ask, ownership, leaseMs, wire, live, database, guard } = deps;
  const { schema, fleet } = address;
  return {
    fleet,
    schema,
    orphans: (limit) =>
      guard(async () => {
        // Dead owners first: what was theirs is found at once.
        await deps.sweep();
        const values = [Math.max(0, limit), deps.clock.now()];
        const { rows } = await ask(`SELECT * FROM "${schema}".orphans_2($1, $2)`, values);
        return rows.map(({ stream, kind, name, status, root, deaths }) => ({
          stream,
          kind,
          name,
          status,
          root,
          deaths,
        }));
      }),
    forgive: (stream) =>
      guard(async () => {
        const sql = `DELETE FROM "${schema}".deaths WHERE id = (SELECT id FROM "${schema}".streams WHERE stream = $1)`;
        await ask(sql, [stream]);
      }),
    onOrphans: (moved) => wire.topics.add(ORPHANS, moved),
    workers: () => guard(() => readWorkers(ask, schema, leaseMs)),
    present: ownership.present,
    isAlive: ownership.isAlive,
    slots: createSlots({ ask, schema, ownership, leaseMs, wire, guard }),
    live,
    database,
  };
}
