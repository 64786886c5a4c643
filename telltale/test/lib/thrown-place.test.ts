import { expect, it } from 'vitest';
import { thrownPlace } from '../../src/lib/errors.ts';

const withStack = (stack: string) => Object.assign(new Error('x'), { stack });

it.each([
  [
    'a function',
    'Error: x\n    at run (file:///bot/tools/x.js:3:7)\n    at b (/bot/y.js:1:1)',
    '/bot/tools/x.js:3:7',
  ],
  ['a module itself', 'Error: x\n    at file:///bot/x.js:3:7', '/bot/x.js:3:7'],
  ['a path with spaces', 'Error: x\n    at run (/my bot/x.js:3:7)', '/my bot/x.js:3:7'],
  ['Windows', 'Error: x\n    at run (C:\\bot\\x.js:3:7)', 'C:\\bot\\x.js:3:7'],
  [
    'code that Node calls for it',
    'Error: x\n    at open (node:fs:1:2)\n    at run (/bot/x.js:3:7)',
    '/bot/x.js:3:7',
  ],
  ['nowhere', 'Error: x', undefined],
  ['Node alone', 'Error: x\n    at open (node:fs:1:2)', undefined],
])('the place of an error of %s', (_, stack, place) => {
  expect(thrownPlace(withStack(stack))).toBe(place);
});

it('what is no error, and one that throws when it is looked at, have none', () => {
  expect(thrownPlace('text')).toBeUndefined();
  const hostile = Object.defineProperty(new Error('x'), 'stack', {
    get() {
      throw new Error('no');
    },
  });
  expect(thrownPlace(hostile)).toBeUndefined();
});
