import { expect, test } from 'vitest';
import type { ActionState } from '../../src/log/action.ts';
import { fold } from '../../src/log/reduce.ts';
import { turnEndingOf } from '../../src/scheduler/restore.ts';

const by = (turn: number) => ({ turn }) as ActionState;

test('a turn whose record compaction took away is not one that is gone on with', () => {
  const state = { ...fold([]), turn: 3, turnOpen: true, turns: [] };
  expect([1, 2, 3].map((turn) => turnEndingOf(state, by(turn)))).toEqual(['well', 'well', 'open']);
});
