import { describe, expect, it } from 'vitest';
import { agent, found, said } from './said.ts';

/** What is said of a permission that goes by the variable "v". */
const guarded = (variables: Record<string, unknown>) =>
  said(agent({ context_variables: variables, permissions: { paths: ['$v'] } })).filter((line) =>
    line.startsWith('model_controlled'),
  );
const refused = (why: string) => [
  `model_controlled permissions.paths.0: The variable "v" is used by a permission, and ${why}. | Add "writers: [workflow, user]" to it, or use another variable.`,
];
const derived = (...triggers: readonly object[]) => ({ derived: [{ name: 'v', triggers }] });
const TOOL = { type: 'tool_response', tool: 't' };

describe('a variable that a permission goes by', () => {
  it.each<[what: string, variables: Record<string, unknown>, why: string]>([
    [
      'may not be anybody’s to write',
      { runtime: [{ name: 'v' }] },
      'the model may write it, because it has no "writers"',
    ],
    [
      'may not be the model’s to write',
      { defined: [{ name: 'v', writers: ['user', 'model'] }] },
      'the model may write it',
    ],
    [
      'may not follow what an agent says',
      derived(TOOL, { type: 'agent_text', match: { equals: 'x' } }),
      "it is derived from an agent's text",
    ],
    [
      'may not be reset by what an agent says',
      derived({ ...TOOL, reset_on: [{ type: 'agent_text', match: { equals: 'x' } }] }),
      "it is derived from an agent's text",
    ],
    [
      'may not follow an event that a model brings about',
      derived({ type: 'event', event: 'action.declared' }),
      'it is derived from the event action.declared, which a model can cause',
    ],
    [
      'may not follow such an event of a called agent',
      derived({ type: 'event', event: 'child.response' }),
      'it is derived from the event child.response, which a model can cause',
    ],
    [
      'may not follow a time that such an event begins',
      derived({ type: 'timer_expired', after: '1s', since: 'response' }),
      'it is derived from the event response, which a model can cause',
    ],
    [
      'may not be computed from metadata',
      { derived: [{ name: 'v', expression: 'metadata.x == 1' }] },
      'it is derived from metadata, which the model declares',
    ],
  ])('%s', (_what, variables, why) => {
    expect(guarded(variables)).toEqual(refused(why));
  });

  it.each([
    ['the first of two', ['v', 'w']],
    ['the second of two', ['w', 'v']],
  ])('may not be computed from one that the model writes: %s that are', (_which, names) => {
    const variables = {
      runtime: [{ name: 'm' }],
      derived: names.map((name) => ({ name, expression: 'm > 1' })),
    };
    expect(guarded(variables)).toEqual(
      refused('it is derived from "m": the model may write it, because it has no "writers"'),
    );
  });

  it('may not be computed from what is computed from such a one', () => {
    const variables = {
      runtime: [{ name: 'm', writers: ['model'] }],
      derived: [
        { name: 'u', expression: 'm + 1' },
        { name: 'v', expression: 'u > 1' },
        { name: 'x', expression: 'u + m' },
      ],
    };
    expect(guarded(variables)).toEqual(refused('it is derived from "u": the model may write it'));
  });

  it.each<[what: string, variables: Record<string, unknown>]>([
    ['people and workflows write', { runtime: [{ name: 'v', writers: ['user', 'workflow'] }] }],
    ['nobody writes', { runtime: [{ name: 'v', writers: [] }] }],
    ['follows results and failures', derived(TOOL, { type: 'event', event: 'action.failed' })],
    ['follows time', derived({ type: 'timer_expired', after: '1s' })],
    ['follows turns', derived({ type: 'agent_turn_count', at_least: 2 })],
    [
      'is computed from one of these',
      { runtime: [{ name: 'm', writers: ['user'] }], derived: [{ name: 'v', expression: 'm > 1' }] },
    ],
  ])('may be one that %s', (_what, variables) => {
    expect(guarded(variables)).toEqual([]);
  });
});

describe('the fallback of a hook', () => {
  const allowed = (list: string, fallback: unknown) =>
    found(agent({ hooks: { [list]: [{ invoke: 'judge', method: 'm', fallback }] } })).length === 0;

  it.each<[fallback: unknown, before: boolean, after: boolean]>([
    [true, true, true],
    [null, true, true],
    [false, true, false],
    [{ refuse: 'no' }, true, false],
    [{ refuse: true }, true, false],
    [{ refuse: false }, false, false],
    [{ refuse: 5 }, false, false],
    [{ parameters: {} }, true, false],
    [{ parameters: 5 }, false, false],
    [{ result: null }, false, true],
    [{}, false, false],
    ['yes', false, false],
    [[], false, false],
  ])('%j counts before an action: %s, and behind one: %s', (fallback, before, after) => {
    expect([allowed('before_action', fallback), allowed('after_action', fallback)]).toEqual([before, after]);
    expect(allowed('on_error', fallback)).toBe(true);
  });
});

describe('an action template', () => {
  const about = (action_templates: object) => said(agent({ action_templates }));

  it('takes what undoes it from one that is there, and not from itself', () => {
    const y = { type: 'tool', name: 'y' };
    expect(about({ a: { ...y, compensate: { template: 'b' } }, b: y })).toEqual([]);
    expect(about({ a: { ...y, compensate: { template: 'bb' } }, b: y })).toEqual([
      'unknown_template action_templates.a.compensate.template: There is no action template "bb". | Did you mean "b"?',
    ]);
    expect(about({ a: { ...y, compensate: { template: 'b' } }, b: { template: 'a' } })).toEqual([
      'cycle action_templates.a: These action templates refer to each other in a cycle: a → b → a. | Break the cycle: one of them must not refer to another.',
    ]);
  });

  it('has conditions of names that there are, also where it is undone', () => {
    expect(
      about({ a: { type: 'tool', name: 'x', if: 'agnet.x == 1', compensate: { name: 'y', if: 'vras.x' } } }),
    ).toEqual([
      'unknown_name action_templates.a.if: Unknown name "agnet". | Did you mean "agent"?',
      'unknown_name action_templates.a.compensate.if: Unknown name "vras". | Did you mean "vars"?',
    ]);
    const variables = { context_variables: { runtime: [{ name: 'price' }] } };
    expect(
      said(agent({ ...variables, action_templates: { a: { type: 'tool', name: 'x', if: 'price > 1' } } })),
    ).toEqual([]);
  });
});
