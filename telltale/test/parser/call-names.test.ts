import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ACTION_KINDS } from '../../src/lib/calls.ts';
import type { CallTarget } from '../../src/parser/calls/call-names.ts';
import { createCallNames } from '../../src/parser/calls/call-names.ts';

const nativesOf = (...targets: readonly (readonly [CallTarget['kind'], string])[]) =>
  createCallNames(targets.map(([kind, name]) => ({ kind, name }))).natives;

describe('the native name of a target', () => {
  it('is its own for tools and internal actions, and begins with the kind for all others', () => {
    expect(
      nativesOf(['tool', 'search'], ['internal', 'rollback'], ['agent', 'search'], ['llm', 'summarize']),
    ).toEqual(['search', 'rollback', 'agent_search', 'llm_summarize']);
  });

  it('goes, where two would be the same, to the one that needs no change', () => {
    expect(nativesOf(['tool', 'a.b'], ['tool', 'a_b'], ['agent', 'x'], ['tool', 'agent_x'])).toEqual([
      'tool_a_b',
      'a_b',
      'agent_x_2',
      'agent_x',
    ]);
  });

  it('is never one of those the dialect itself has', () => {
    expect(nativesOf(['tool', 'respond'], ['tool', 'set_metadata'], ['internal', 'step'])).toEqual([
      'tool_respond',
      'tool_set_metadata',
      'internal_step',
    ]);
  });

  it('is one that every provider takes, is unique, and leads back to its target, whatever that is called', () => {
    const name = fc.oneof(
      fc.string({ maxLength: 80 }),
      fc.constantFrom('a', 'a_2', 'agent_a', 'tool_a', 'respond', 'ä'.repeat(70), 'x'.repeat(70)),
    );
    const target = fc.record({ kind: fc.constantFrom(...ACTION_KINDS), name });
    fc.assert(
      fc.property(fc.array(target, { maxLength: 30 }), (targets) => {
        const names = createCallNames(targets);
        expect(names.natives).toHaveLength(targets.length);
        expect(new Set(names.natives).size).toBe(targets.length);
        expect(createCallNames(targets).natives).toEqual(names.natives);
        for (const [index, native] of names.natives.entries()) {
          expect(native).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
          expect(names.find(native)).toBe(targets[index]);
        }
      }),
    );
  });
});
