import { describe, expect, it } from 'vitest';
import { takenIds } from '../../src/agent/model-interface.ts';
import { declared, FOREACH, folded, STARTED, TURN } from '../log/fold-bodies.ts';

describe('the ids that are taken', () => {
  it('are those of actions, of what they stand in, and of what a <foreach> has yet to make', () => {
    const loop = {
      ...FOREACH,
      parameters: { in: '$list', as: 'x', actions: [{ id: 'later', name: 'echo' }] },
    };
    const state = folded(
      STARTED,
      TURN,
      declared('a', { group: 'g', within: ['outer'] }),
      declared('e[0]', { base: 'e' }),
      declared('l', loop as never),
      TURN,
      declared('b'),
    );
    const first = ['a', 'g', 'outer', 'e[0]', 'e', 'l', 'later'];
    expect([...takenIds(state)].toSorted()).toEqual([...first, 'b'].toSorted());
    expect([...takenIds(state, 2)].toSorted()).toEqual(first.toSorted());
  });
});
