import { expect, it } from 'vitest';
import type { Fleet } from '../../../src/cluster/fleet.ts';
import { createSystemClock } from '../../../src/lib/clock.ts';
import { admitted } from '../../../src/server/routes/admitted.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import { append } from '../../store/appending.ts';

const fleet = (admission: Awaited<ReturnType<Fleet['admit']>>) =>
  ({ name: 'blue', admit: async () => admission }) as Fleet;

it('a full fleet refuses what is new, and nothing that was begun under the same key before', async () => {
  const store = createMemoryStore({ clock: createSystemClock() });
  const head = { kind: 'session', name: 'agent', status: 'running', title: '' } as const;
  await append(await store.create('ses_begun', head), { expectedSeq: 0, events: ['{}'] });
  await store.create('ses_named', head); // whoever made it died before its first event
  const full = { store, fleet: fleet('full') };
  for (const id of [undefined, 'ses_new', 'ses_named'])
    await expect(admitted(full, id)).rejects.toMatchObject({ code: 'fleet_full', retryable: true });
  expect(await admitted(full, 'ses_begun')).toBe('queue');
  for (const where of ['here', 'queue'] as const)
    expect(await admitted({ store, fleet: fleet(where) }, 'ses_begun')).toBe(where);
  expect(await admitted({ store })).toBe('here');
});
