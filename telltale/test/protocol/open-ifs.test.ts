import fc from 'fast-check';
import { expect, test } from 'vitest';
import { truncated } from '../../src/protocol/tags/faults.ts';
import { openIfs } from '../../src/protocol/tags/open-ifs.ts';
import { createSharedTagParser } from '../../src/protocol/tags/tag-parser.ts';
import { branchTurn, codeTurn, turn } from './arbitraries.ts';

const parsed = (text: string, inside?: Parameters<typeof openIfs>[0] | undefined, before = '') => {
  const live = inside === undefined ? undefined : openIfs(inside).map((open) => ({ ...open, live: true }));
  const parser = createSharedTagParser(live === undefined ? {} : { inside: live });
  const first = parser.push(before);
  return { first, rest: [...parser.push(text), ...parser.end()] };
};

test.each([
  ['', []],
  ['<if test="a">', [{ test: 'a', inElse: false }]],
  ['<if test="a"><else/>', [{ test: 'a', inElse: true }]],
  [
    '<if test="a"><if test="b"><else/>',
    [
      { test: 'a', inElse: false },
      { test: 'b', inElse: true },
    ],
  ],
  ['<if test="a"><if test="b"></if><else/></if><if test="c">', [{ test: 'c', inElse: false }]],
])('the ifs that are open behind %s are found', (before, open) => {
  expect(openIfs(parsed('', undefined, before).first)).toEqual(open);
});

test('whatever follows is read inside of them as behind their opening tags, but that they need not be closed', () => {
  const before = fc.constantFrom('<if test="a">', '<if test="a"><else/>', '<if test="a"><if test="b">');
  fc.assert(
    fc.property(before, fc.oneof(branchTurn, codeTurn, turn), (opened, text) => {
      const whole = parsed(text, undefined, opened);
      const inside = parsed(text, whole.first);
      const { message } = truncated('if');
      const unclosed = (events: readonly { readonly type: string }[]) =>
        events.filter((event) => !('message' in event && event.message === message));
      expect(unclosed(inside.rest)).toEqual(unclosed(whole.rest));
      expect(inside.rest.length).toBeLessThanOrEqual(whole.rest.length);
    }),
    { numRuns: 1000 },
  );
});

test('one in which nothing counts has to be closed', () => {
  const begun = { test: 'a', inElse: false, live: false };
  const left = createSharedTagParser({ inside: [begun] });
  expect(left.end()).toContainEqual(truncated('if'));
  const closed = createSharedTagParser({ inside: [begun] });
  expect([...closed.push('</if>'), ...closed.end()]).toEqual([{ type: 'if', test: 'a', body: 'close' }]);
});
