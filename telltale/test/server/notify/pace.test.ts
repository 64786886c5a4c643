import { expect, it } from 'vitest';
import { createSimulatedClock } from '../../../src/lib/simulated-clock.ts';
import { createPace, type DispatcherPace } from '../../../src/server/notify/dispatcher.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';

const kinds = async (pace: DispatcherPace, times: number) => {
  const turns = await Promise.all(Array.from({ length: times }, () => pace.take('a ops')));
  return turns.map(({ kind }) => kind).join('');
};

it('the twenty of a minute are those of all processes, and what is beyond them asks the store for nothing', async () => {
  const clock = createSimulatedClock();
  const { tables } = createMemoryStore({ clock });
  let asked = 0;
  const counting = {
    get: (table: string, key: string) => {
      asked++;
      return tables.get(table, key);
    },
    exchange: tables.exchange,
  };
  const [one, two] = [createPace(counting, clock), createPace(counting, clock)];
  const both = await Promise.all([kinds(one, 15), kinds(two, 15)]);
  expect(both.join('').match(/own/g)).toHaveLength(20);
  expect(await kinds(one, 1)).toBe('counted');
  expect(await kinds(two, 1)).toBe('counted');
  const before = asked;
  await kinds(one, 5_000);
  expect(asked).toBe(before);
  expect(await one.take('a other')).toEqual({ kind: 'own' });
});

it('a minute is counted from its first message on, and the next begins with the first behind it', async () => {
  const clock = createSimulatedClock();
  const { tables } = createMemoryStore({ clock });
  const pace = createPace(tables, clock);
  const since = clock.now();
  await kinds(pace, 20);
  await clock.advance(59_999);
  expect(await pace.take('a ops')).toEqual({ kind: 'counted', since, until: since + 60_000 });
  await clock.advance(1);
  expect(await kinds(pace, 21)).toBe(`${'own'.repeat(20)}counted`);
});

it('a machine whose clock is behind counts on in the minute of one that is ahead', async () => {
  const clock = createSimulatedClock();
  const { tables } = createMemoryStore({ clock });
  const ahead = createPace(tables, { now: () => clock.now() + 30_000 });
  const behind = createPace(tables, clock);
  expect(await kinds(ahead, 20)).toBe('own'.repeat(20));
  expect(await behind.take('a ops')).toMatchObject({ kind: 'counted', since: clock.now() + 30_000 });
});

it('a minute whose message has gone out is over, and the next begins behind it', async () => {
  const clock = createSimulatedClock();
  const { tables } = createMemoryStore({ clock });
  const since = clock.now() + 90_000;
  const ahead = createPace(tables, { now: () => clock.now() + 90_000 });
  const behind = createPace(tables, clock);
  await kinds(ahead, 20);
  expect(await behind.take('a ops')).toMatchObject({ kind: 'counted', since });
  await clock.advance(60_000);
  expect(await behind.take('a ops', since)).toEqual({ kind: 'own' });
  expect(await kinds(ahead, 20)).toBe(`${'own'.repeat(19)}counted`);
  for (const pace of [ahead, behind])
    expect(await pace.take('a ops', since)).toMatchObject({ kind: 'counted', since: since + 60_000 });
});

it('a minute that lies ahead is over once the store has forgotten it', async () => {
  const clock = createSimulatedClock();
  const { tables } = createMemoryStore({ clock });
  const ahead = createPace(tables, { now: () => clock.now() + 300_000 });
  const behind = createPace(tables, clock);
  await kinds(ahead, 20);
  expect(await behind.take('a ops')).toMatchObject({ kind: 'counted' });
  await clock.advance(119_999);
  expect(await createPace(tables, clock).take('a ops')).toMatchObject({ kind: 'counted' });
  await clock.advance(1);
  expect(await behind.take('a ops')).toEqual({ kind: 'own' });
});

it('a store that fails once holds up nothing behind', async () => {
  const clock = createSimulatedClock();
  const { tables } = createMemoryStore({ clock });
  let fails = true;
  const get = async (table: string, key: string) => {
    if (!fails) return tables.get(table, key);
    fails = false;
    throw new Error('gone');
  };
  const pace = createPace({ get, exchange: tables.exchange }, clock);
  const [first, second] = await Promise.allSettled([pace.take('a ops'), pace.take('a ops')]);
  expect([first.status, second.status]).toEqual(['rejected', 'fulfilled']);
});
