import { describe, expect, it, vi } from 'vitest';
import { lateMethods } from '../../src/lib/late-methods.ts';
import { withMethods } from '../../src/lib/with-methods.ts';

interface Counter {
  by: number;
  total: number;
  add(): number;
  readonly made: { readonly of: number };
}

const METHODS = {
  add(this: Counter): number {
    this.total += this.by;
    return this.total;
  },
};

const FACE = lateMethods<Counter, typeof METHODS, Pick<Counter, 'made'>>(METHODS, {
  made: ({ by }) => ({ of: by }),
});

const counter = (by: number): Counter => withMethods<Counter, keyof typeof FACE>(FACE, { by, total: 0 });

describe('a method that is bound when it is asked for', () => {
  it('can be taken off its record', () => {
    const { add } = counter(2);
    expect([add(), add()]).toEqual([2, 4]);
  });

  it('is the same each time, and another one for another record', () => {
    const [one, other] = [counter(1), counter(1)];
    expect(one.add).toBe(one.add);
    expect(one.add).not.toBe(other.add);
    one.add();
    expect([one.total, other.total]).toEqual([1, 0]);
  });

  it('is not there before', () => {
    const one = counter(1);
    expect(Object.keys(one)).toEqual(['by', 'total']);
    one.add();
    expect(Object.keys(one)).toEqual(['by', 'total', 'add']);
  });

  it('gives way to what a program puts in its place after it was called, and can be put back', () => {
    const one = counter(1);
    one.add();
    const spied = vi.spyOn(one, 'add').mockReturnValue(7);
    expect(one.add()).toBe(7);
    spied.mockRestore();
    expect(one.add()).toBe(2);
    delete (one as Partial<Counter>).add;
    expect(one.add()).toBe(3);
  });

  it('gives way to what a program puts in its place', () => {
    const [one, other] = [counter(1), counter(1)];
    one.add = () => 7;
    expect([one.add(), other.add()]).toEqual([7, 1]);
  });
});

describe('a part that is made when it is asked for', () => {
  it('is made once for each record', () => {
    const one = counter(3);
    expect(one.made).toEqual({ of: 3 });
    expect(one.made).toBe(one.made);
  });
});
