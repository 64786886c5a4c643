import { describe, expect, test } from 'vitest';
import type { Json } from '../../src/lib/json.ts';
import { stage } from './stage.ts';

/** What is outside and has to be loaded first: `tree`. */
function loading() {
  const outside: Record<string, Json> = {};
  const asked: (() => void)[] = [];
  const fetch = (name: string, then: () => void) => {
    if (name !== 'tree') return false;
    asked.push(then);
    return true;
  };
  return {
    options: { outside, fetch },
    asked,
    arrive(value?: Json) {
      if (value !== undefined) outside.tree = value;
      for (const then of asked.splice(0)) then();
    },
  };
}

describe('what has to be loaded first', () => {
  test('is asked for once, and the action that names it starts with its value when it is there', async () => {
    const { options, asked, arrive } = loading();
    const s = stage(options);
    s.declare('a', { parameters: { whole: '$tree', part: '$tree.root', text: 'see {{tree.root}}, $tree' } });
    s.declare('b', { parameters: { x: '$tree' } });
    expect(asked).toHaveLength(1);
    expect(s.running()).toEqual([]);
    arrive({ root: '/' });
    await s.settle();
    expect(s.call('a').input).toEqual({
      whole: { root: '/' },
      part: '/',
      text: 'see {{tree.root}}, $tree',
    });
    expect(s.call('b').input).toEqual({ x: { root: '/' } });
  });

  test('keeps from starting what names it where it cannot be had, and is asked for anew by the next', async () => {
    const { options, asked, arrive } = loading();
    const s = stage(options);
    s.declare('a', { parameters: { x: '$tree' } });
    s.declare('b', { depends_on: ['a'] });
    arrive();
    await s.settle();
    expect(s.story()).toEqual([
      'declared a',
      'declared b',
      'skipped a dependency feed:tree',
      'skipped b dependency feed:tree',
    ]);
    s.declare('c', { parameters: { x: '$tree' } });
    expect(asked).toHaveLength(1);
    arrive('here');
    await s.settle();
    expect(s.call('c').input).toEqual({ x: 'here' });
  });

  test('is waited for by a response, which then says its value, or that there is none', async () => {
    const { options, arrive } = loading();
    const s = stage(options);
    const pending = s.scheduler.resolveReference('$tree');
    expect(pending).toEqual({ state: 'pending', id: 'feed:tree', rest: '' });
    let out = 0;
    s.scheduler.whenAllEnded(['feed:tree'], () => out++);
    expect(out).toBe(0);
    arrive('a\nb');
    await s.settle();
    expect(out).toBe(1);
    expect(s.scheduler.resolveReference('$tree')).toEqual({ state: 'value', value: 'a\nb', rest: '' });
    expect(s.ended).toEqual([]);
  });

  test('does not count as rest, though another action waits for leave', () => {
    const { options } = loading();
    const s = stage({
      ...options,
      targets: { ask: { needs: () => undefined } },
      clear: () => new Promise(() => undefined),
    });
    s.declare('a', { name: 'ask' });
    expect(s.scheduler.isParked()).toBe(true);
    s.declare('b', { parameters: { x: '$tree' } });
    expect(s.scheduler.isParked()).toBe(false);
  });

  test('an action that is cancelled meanwhile does not start when it comes', async () => {
    const { options, arrive } = loading();
    const s = stage(options);
    s.declare('a', { parameters: { x: '$tree' } });
    await s.scheduler.cancel('no longer', ['a']);
    arrive('late');
    await s.settle();
    expect(s.running()).toEqual([]);
    expect(s.story()).toEqual(['declared a', 'cancelled a']);
  });

  test('nothing is asked of outside for names that the session knows itself', () => {
    const { options, asked } = loading();
    const s = stage(options);
    s.declare('tree');
    s.declare('b', { parameters: { x: '$tree', y: '$other' } });
    expect(asked).toEqual([]);
    expect(s.running()).toEqual(['tree']);
  });
});
