import { describe, expect, it } from 'vitest';
import { checkContextVariablesFile } from '../../../src/manifest/variables-file.ts';

const derived = {
  name: 'interview_complete',
  default: false,
  triggers: [{ type: 'agent_text', agent: 'InterviewAgent', match: { equals: 'TERMINATE' } }],
};

describe('a context_variables.json', () => {
  it('is read into the classes of a manifest', () => {
    const { variables, issues } = checkContextVariablesFile({
      context_variables: { runtime_variables: [{ name: 'n' }], derived_variables: [derived] },
    });
    expect(issues).toEqual([]);
    expect(variables?.derived[0]).toMatchObject({
      name: 'interview_complete',
      triggers: [{ in: 'response', set: true }],
    });
    expect(variables?.defined).toEqual([]);
    expect(Object.isFrozen(variables?.runtime)).toBe(true);
  });

  it('is checked like the variables of a manifest, with paths of its own', () => {
    const { issues } = checkContextVariablesFile({
      context_variables: {
        runtime_variables: [{ name: 'a' }, { nam: 'b' }],
        derived_variables: [{ name: 'a', expression: 'vars.a' }],
      },
    });
    expect(issues.map(({ code, path }) => `${code} ${path.join('.')}`)).toEqual([
      'unknown_key context_variables.runtime_variables.1.nam',
      'duplicate context_variables.derived_variables.0.name',
      'cycle context_variables.derived_variables.0.expression',
    ]);
  });

  it('says where the names of a manifest belong', () => {
    expect(checkContextVariablesFile({ context_variables: { derived: [] } }).issues[0]?.hint).toBe(
      'In this file, use "derived_variables".',
    );
    expect(checkContextVariablesFile(7).issues[0]?.code).toBe('wrong_type');
  });
});
