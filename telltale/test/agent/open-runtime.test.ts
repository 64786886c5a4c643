import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { type PostgresHome, useHome } from '../store/postgres-home.ts';

describe('a runtime', () => {
  let home: PostgresHome;
  useHome((given) => {
    home = given;
  });

  const connections = async () => {
    const [row] = await home.sql(
      'SELECT count(*)::int AS open FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    return row?.open;
  };

  it('whose fleet cannot be joined says why, and leaves no connection behind', async () => {
    await (await createRuntime({ store: home.url })).close();
    await home.sql(`ALTER TABLE ${home.schema}_jobs.queue RENAME TO gone`);
    await expect(createRuntime({ store: home.url })).rejects.toMatchObject({
      code: 'work_queue_failed',
      message: expect.stringContaining(`${home.schema}_jobs`),
    });
    await expect.poll(connections).toBe(0);
  });

  it('leaves the store open that it was given', async () => {
    const store = createMemoryStore({ clock: createSystemClock() });
    await (await createRuntime({ store })).close();
    expect(await store.list({})).toEqual([]);
    await store.close();
  });
});
