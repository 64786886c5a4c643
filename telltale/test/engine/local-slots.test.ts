import { describe, expect, it } from 'vitest';
import { createFairQueue, createLocalSlots } from '../../src/engine/slots.ts';

describe('a slot', () => {
  const never = new AbortController().signal;
  const ask = { group: 'g', signal: never };

  it('that is given back twice is free once', () => {
    const slots = createLocalSlots();
    const free = slots.take('k', 2, ask) as () => void;
    slots.take('k', 2, ask);
    free();
    free();
    expect(typeof slots.take('k', 2, ask)).toBe('function');
    expect(slots.take('k', 2, ask)).toBeInstanceOf(Promise);
  });

  it('goes to those behind one that gave up and was content with less', async () => {
    const slots = createLocalSlots();
    slots.take('k', 3, ask);
    const picky = new AbortController();
    const first = Promise.resolve(slots.take('k', 1, { group: 'g', signal: picky.signal }));
    const second = slots.take('k', 3, ask);
    expect([second instanceof Promise, slots.hasWaiting('k'), slots.hasWaiting('other')]).toEqual([
      true,
      true,
      false,
    ]);
    picky.abort(new Error('enough'));
    await expect(first).rejects.toThrow('enough');
    expect(typeof (await second)).toBe('function');
    expect(slots.hasWaiting('k')).toBe(false);
  });

  it('that was granted is not taken back by who is cancelled later', async () => {
    const slots = createLocalSlots();
    const held = slots.take('k', 1, ask) as () => void;
    const owner = new AbortController();
    const granted = slots.take('k', 1, { group: 'g', signal: owner.signal });
    held();
    const free = await granted;
    owner.abort(new Error('later'));
    expect(slots.take('k', 1, ask)).toBeInstanceOf(Promise);
    free();
  });
});

describe('a fair queue', () => {
  it('that was cleared has forgotten all, and takes the same again', () => {
    const queue = createFairQueue<string>();
    for (const item of ['a1', 'a2', 'b1']) queue.push(item, item.slice(0, 1));
    queue.clear();
    expect([queue.size, queue.peek(), queue.shift(), [...queue], queue.delete('a1')]).toEqual([
      0,
      undefined,
      undefined,
      [],
      false,
    ]);
    for (const item of ['b1', 'a1']) queue.push(item, item.slice(0, 1));
    expect([queue.shift(), queue.shift(), queue.shift()]).toEqual(['b1', 'a1', undefined]);
  });

  it('leaves no gap where one in the middle goes, or the last, or a whole group', () => {
    const queue = createFairQueue<string>();
    for (const item of ['a1', 'a2', 'a3', 'b1', 'c1']) queue.push(item, item.slice(0, 1));
    expect([queue.delete('a2'), queue.delete('b1'), queue.delete('a3'), queue.delete('a3')]).toEqual([
      true,
      true,
      true,
      false,
    ]);
    queue.push('a4', 'a');
    expect([...queue]).toEqual(['a1', 'a4', 'c1']);
    expect([1, 2, 3, 4].map(() => queue.shift())).toEqual(['a1', 'c1', 'a4', undefined]);
  });
});
