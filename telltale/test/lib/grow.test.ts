import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { added, dropped, joined, left, NOBODY, NONE, NOTHING, put, withoutLast } from '../../src/lib/grow.ts';

const steps = fc.array(fc.option(fc.nat(20), { nil: undefined }), { maxLength: 60 });

describe('what is shared until something is put into it', () => {
  it('a list holds what was added, in order, less what was taken from its end', () => {
    fc.assert(
      fc.property(steps, (given) => {
        const plain: number[] = [];
        let list: readonly number[] = NONE;
        for (const step of given) {
          if (step === undefined) plain.pop();
          else plain.push(step);
          list = step === undefined ? withoutLast(list) : added(list, step);
          expect(list).toEqual(plain);
        }
      }),
    );
  });

  it('a table and a set hold what was put into them and not taken out again', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat(5)), { maxLength: 60 }), (given) => {
        const plain = new Set<number>();
        let table: ReadonlyMap<number, string> = NOTHING;
        let set: ReadonlySet<number> = NOBODY;
        for (const [isIn, key] of given) {
          if (isIn) plain.add(key);
          else plain.delete(key);
          table = isIn ? put(table, key, `${key}`) : dropped(table, key);
          set = isIn ? joined(set, key) : left(set, key);
          expect([...table]).toEqual([...plain].map((each) => [each, `${each}`]));
          expect([...set]).toEqual([...plain]);
        }
      }),
    );
  });

  it('stays empty, whatever others put into theirs, and is theirs again once they have nothing', () => {
    added(NONE, 1);
    expect(dropped(put(NOTHING, 'a', 1), 'a')).toBe(NOTHING);
    expect(left(joined(NOBODY, 'a'), 'a')).toBe(NOBODY);
    expect(withoutLast(added(NONE, 1))).toBe(NONE);
    expect([NONE.length, NOTHING.size, NOBODY.size]).toEqual([0, 0, 0]);
  });
});
