import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MemoryHome } from '../../src/store/memory/memory-tables.ts';
import { addRow } from '../../src/store/memory/memory-tables.ts';
import type { Store, StreamWriter } from '../../src/store/store.ts';
import { moreRuns } from '../more-runs.ts';
import { type Played, play, type Spoil, scenario } from './fleet-model.ts';

/** How many are played. When one fails, fast-check prints its seed and path: give both to `fc.assert`. */
const SCENARIOS = moreRuns(2_000);

const holds = (spoil?: Spoil, met: Played['met'][] = []) =>
  fc.asyncProperty(scenario, async (given) => {
    const played = await play(given, spoil);
    met.push(played.met);
    expect(played.wrong).toEqual([]);
  });

/** A store whose writers write, whoever has the stream now and however far it is. */
const unfenced = (store: Store, home: MemoryHome): Store => {
  const loose = (writer: StreamWriter): StreamWriter => ({
    ...writer,
    append({ events, status, due, consumed = [] }, settled) {
      const stream = home.streams.get(writer.stream);
      if (stream === undefined) throw new Error(`No stream is named ${writer.stream}.`);
      addRow(stream.events, events.join('\n'), events.length);
      if (status !== undefined) Object.assign(stream, { status, due });
      stream.inbox = stream.inbox.filter(({ id }) => !consumed.includes(id));
      queueMicrotask(settled);
    },
  });
  return {
    ...store,
    create: async (...args) => loose(await store.create(...args)),
    acquire: async (...args) => loose(await store.acquire(...args)),
  };
};

/** A store that lets two have a stream at once. */
const unowned = (store: Store, home: MemoryHome): Store => ({
  ...store,
  async acquire(name) {
    const stream = home.streams.get(name);
    if (stream !== undefined) stream.owner = undefined;
    return store.acquire(name);
  },
});

describe('store, engine and workers, whatever happens to them', () => {
  it('lose nothing, do nothing twice, keep the order, and come to an end', async () => {
    const met: Played['met'][] = [];
    await fc.assert(holds(undefined, met), { numRuns: SCENARIOS });
    // What it is about did happen.
    for (const what of ['refused', 'interrupted', 'takenOver', 'fired', 'heard', 'ended'] as const)
      expect(met.filter((each) => each[what] > 0).length, what).toBeGreaterThan(SCENARIOS / 50);
  });

  it('do so by the fence alone: no harm comes of two that have a stream at once', async () => {
    await fc.assert(holds({ store: unowned }), { numRuns: SCENARIOS / 10 });
  });

  it.each([
    [
      'whose fence is broken',
      { store: unfenced },
      /lost its event|not what one writer would have written|wrote after/,
    ],
    ['that forgets what is due and who is dead', { orphans: async () => [] }, /nobody goes on with it/],
    ['in which an offer is never taken', { take: async () => [] }, /nobody goes on with it/],
  ] satisfies [string, Spoil, RegExp][])('a fleet %s is found out', async (_, spoil, what) => {
    const { failed, errorInstance } = await fc.check(holds(spoil), {
      numRuns: SCENARIOS,
      endOnFailure: true,
    });
    expect(failed).toBe(true);
    expect(JSON.stringify((errorInstance as { actual?: unknown }).actual)).toMatch(what);
  });
});
