import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createIdSource } from '../../src/lib/ids.ts';
import { moreRuns } from '../more-runs.ts';

const all31 = (bytes: Uint8Array) => {
  bytes.fill(255);
};

describe('ids', () => {
  it('are 26 characters that are hard to misread, with a prefix if asked', () => {
    const ids = createIdSource({ clock: { now: () => Date.UTC(2026, 0, 1) } });
    expect(ids.next()).toMatch(/^[0-9a-hjkmnp-tv-z]{26}$/);
    expect(ids.next('run')).toMatch(/^run_[0-9a-hjkmnp-tv-z]{26}$/);
  });

  it('begin with the time, so that ids of two sources sort by when they were made', () => {
    const at = (ms: number) =>
      createIdSource({ clock: { now: () => ms } })
        .next()
        .slice(0, 10);
    expect([0, 31, 32.9, 2_000, Date.UTC(2026, 0, 1), 2 ** 48 - 1].map(at)).toEqual([
      '0000000000',
      '000000000z',
      '0000000010',
      '00000001yg',
      '01kdvdna00',
      '7zzzzzzzzz',
    ]);
  });

  it('of two sources are different in the same millisecond: the system is asked for randomness', () => {
    const clock = { now: () => 1_000 };
    expect(createIdSource({ clock }).next()).not.toBe(createIdSource({ clock }).next());
  });

  it('count up by one within a millisecond', () => {
    const ids = createIdSource({ clock: { now: () => 0 }, random: (bytes) => bytes.fill(30) });
    expect([ids.next(), ids.next(), ids.next()].map((id) => id.slice(22))).toEqual(['yyyy', 'yyyz', 'yyz0']);
  });

  it('sort in the order they were made and are unique, whatever the clock does', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.integer({ min: -5, max: 5 }), fc.double({ min: -10, max: 1e13, noNaN: true }))),
        (times) => {
          let now = 0;
          const ids = createIdSource({ clock: { now: () => now } });
          const made = times.map((time) => {
            now = time;
            return ids.next();
          });
          return made.every((id, i) => i === 0 || id > (made[i - 1] ?? ''));
        },
      ),
      { numRuns: moreRuns(1_000) },
    );
  });

  it('go on in order after the random part has run over', () => {
    const ids = createIdSource({ clock: { now: () => 1_000 }, random: all31 });
    const made = Array.from({ length: 100 }, () => ids.next());
    expect(made[0]?.slice(10)).toBe('z'.repeat(16));
    expect(made[1]?.slice(10)).toBe('0'.repeat(16));
    expect([...made].sort()).toEqual(made);
    expect(new Set(made).size).toBe(100);
  });

  it('a clock that is later than an overflow took them counts again', () => {
    let now = 1_000;
    const ids = createIdSource({ clock: { now: () => now }, random: all31 });
    const first = [ids.next(), ids.next()];
    now = 1_001;
    const second = ids.next();
    now = 1_002;
    const third = ids.next();
    expect([...first, second, third].sort()).toEqual([...first, second, third]);
  });

  it('are well-formed for a clock before 1970', () => {
    const ids = createIdSource({ clock: { now: () => -1 } });
    expect(ids.next()).toMatch(/^0{10}[0-9a-z]{16}$/);
  });

  it('ten thousand in one millisecond are all different, from the system generator', () => {
    const ids = createIdSource({ clock: { now: () => 5 } });
    expect(new Set(Array.from({ length: 10_000 }, () => ids.next())).size).toBe(10_000);
  });
});
