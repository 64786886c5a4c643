import { describe, expect, it } from 'vitest';
import { sharedFields, updateFor, valuesOf } from '../../../src/agent/children/shared-metadata.ts';
import { mergePatch } from '../../../src/agent/metadata/metadata.ts';
import { inheritedVariables } from '../../../src/agent/variables/declared-variables.ts';
import type { Variable } from '../../../src/log/state.ts';
import { agentWith } from '../../prompt/agent.ts';

const plan = { type: 'object', merge: 'deep' };
const parent = agentWith({
  metadata: { fields: { plan, whole: { type: 'object' }, own: { type: 'number' } } },
});
const child = (inherit: string) =>
  agentWith({ metadata: { inherit, fields: { plan, whole: { type: 'object' }, mine: { type: 'number' } } } });

describe('metadata that a sub-agent shares', () => {
  it('is what both declare, and nothing unless it says share', () => {
    expect([...sharedFields(parent, child('share'))]).toEqual(['plan', 'whole']);
    for (const inherit of ['none', 'read']) expect(sharedFields(parent, child(inherit)).size).toBe(0);
    expect(valuesOf({ plan: {}, own: 1 }, new Set(['plan']))).toEqual({ plan: {} });
  });

  it('is handed up as it is where the caller replaces, and as what changed, however deep, where it merges', () => {
    const fields = sharedFields(parent, child('share'));
    const from = { a: { x: 1, y: { z: 1 } }, b: [1], gone: true, same: { k: 1 } };
    const to = { a: { x: 1, y: { z: 2 } }, b: [2], same: { k: 1 }, fresh: {} };
    const changes = { plan: { from, to }, whole: { from, to }, mine: { from: 1, to: 2 } };
    const update = updateFor(parent, { changes }, fields);
    expect(update).toEqual({ plan: { a: { y: { z: 2 } }, b: [2], gone: null, fresh: {} }, whole: to });
    expect(mergePatch(from, update?.plan as typeof from)).toEqual(to);
    expect(updateFor(parent, { changes: { mine: { from: 1, to: 2 } } }, fields)).toBeUndefined();
    expect(updateFor(parent, { changes: { plan: { from: null, to } } }, fields)).toEqual({ plan: to });
  });
});

describe('variables that a sub-agent begins with', () => {
  const above = agentWith({
    context_variables: {
      runtime: [
        { name: 'said', type: 'number', writers: ['model'] },
        { name: 'set', type: 'number', writers: ['workflow'] },
      ],
      derived: [{ name: 'worked_out', expression: 'vars.said + 1' }],
    },
  });
  const names = ['said', 'set', 'worked_out', 'unknown'];
  const below = (inherit: string, writer: string, type = 'number') =>
    agentWith({
      metadata: { inherit },
      context_variables: { runtime: names.map((name) => ({ name, type, writers: [writer] })) },
    });
  const one: Variable = { value: 1, class: 'runtime', by: 'model' };
  const state = { variables: new Map(names.map((name) => [name, one])) };

  it('are those of its caller, what that one worked out, too, and none where it inherits nothing', () => {
    const all = { said: 1, set: 1, worked_out: 1 };
    for (const inherit of ['read', 'share'])
      expect(inheritedVariables(above, below(inherit, 'model'), state)).toEqual(all);
    expect(inheritedVariables(above, below('none', 'model'), state)).toEqual({});
  });

  it('that no model may set take nothing that a model above has set, or brought about', () => {
    expect(inheritedVariables(above, below('read', 'workflow'), state)).toEqual({ set: 1 });
  });

  it('take no value of another type', () => {
    expect(inheritedVariables(above, below('read', 'model', 'string'), state)).toEqual({});
  });
});
