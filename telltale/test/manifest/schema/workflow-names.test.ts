// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of manifests, not of JavaScript
import { describe, expect, it } from 'vitest';
import { machine, said, step, steps } from './said.ts';

const TEST = 'agnet.x == 1';
const body = [step('b')];
const states = { s: { steps: [step('a')] }, t: { final: true } };

describe('a test in a workflow names what there is', () => {
  it.each<[string, object]>([
    ['steps.0.if', steps(step('a', { if: TEST }))],
    ['steps.0.condition', steps(step('a', { condition: TEST }))],
    ['steps.0.while', steps({ name: 'l', type: 'loop', while: TEST, max: 3, body })],
    ['steps.0.until', steps({ name: 'l', type: 'loop', until: TEST, max: 3, body })],
    ['steps.0.cases.0.if', steps({ name: 's', type: 'switch', cases: [{ if: TEST, body }] })],
    ['trigger.test', { ...steps(step('a')), trigger: { type: 'event', event: 'action.failed', test: TEST } }],
    [
      'triggers.0.test',
      { ...steps(step('a')), triggers: [{ type: 'event', event: 'action.failed', test: TEST }] },
    ],
    [
      'transitions.0.condition',
      machine('s', states, {
        transitions: [
          { from: 's', to: 't', condition: TEST },
          { from: 's', to: 't' },
        ],
      }),
    ],
    [
      'states.s.transitions.0.condition',
      machine('s', {
        s: { ...states.s, transitions: [{ to: 't', condition: TEST }, { to: 't' }] },
        t: { final: true },
      }),
    ],
  ])('at %s', (place, workflow) => {
    expect(said(workflow)).toEqual([`unknown_name ${place}: Unknown name "agnet". | Did you mean "agent"?`]);
  });
});

describe('a reference of a step', () => {
  const referring = (p: string) =>
    said({
      ...steps(step('a'), step('b', { needs: ['a'], parameters: { p } })),
      context_variables: { runtime: [{ name: 'price' }] },
    });

  it.each([
    '${vars.x}',
    '${run.id}',
    '${trigger.x}',
    '${input.x}',
    '${agent}',
    '${agent.metadata.x}',
    '${steps.a.output ?? agent.tools ?? 5}',
    '$${nothing}',
  ])('may be %s', (text) => {
    expect(referring(text)).toEqual([]);
  });

  it.each([
    [
      '${file}',
      'unknown_name',
      'Unknown reference "file".',
      'References begin with: agent, trigger, steps, vars, input, run.',
    ],
    [
      '${item.x}',
      'unknown_name',
      'Unknown reference "item".',
      'References begin with: agent, trigger, steps, vars, input, run.',
    ],
    [
      '${output}',
      'unknown_name',
      'Unknown reference "output".',
      'References begin with: agent, trigger, steps, vars, input, run.',
    ],
    ['${price}', 'unknown_name', 'Unknown reference "price".', 'Did you mean "${vars.price}"?'],
    ['${agent.tolls}', 'unknown_name', '"agent" has no "tolls".', 'Did you mean "tools"?'],
    ['${steps.zz.output}', 'unknown_step', 'There is no step "zz".', 'Steps: a, b.'],
    ['${vars.x ?? agent.tolls}', 'unknown_name', '"agent" has no "tolls".', 'Did you mean "tools"?'],
    ['${vars.x ?? 1 ?? steps.zz}', 'unknown_step', 'There is no step "zz".', 'Steps: a, b.'],
  ])('may not be %s', (text, code, message, hint) => {
    expect(referring(text)).toEqual([`${code} steps.1.parameters.p: ${message} | ${hint}`]);
  });

  it('that undoes another sees its output, and nobody else does', () => {
    const undo = (p: string) => ({ compensate: { type: 'tool', target: 't', parameters: { p } } });
    expect(said(steps(step('a', undo('${output.x}'))))).toEqual([]);
    expect(said(steps(step('a', undo('${outptu}'))))).toEqual([
      'unknown_name steps.0.compensate.parameters.p: Unknown reference "outptu". | Did you mean "output"?',
    ]);
  });

  it('in a foreach sees the item under its name, also where it is undone', () => {
    const each = (p: string) =>
      said(
        steps({
          name: 'f',
          type: 'foreach',
          in: '${input.list}',
          as: 'file',
          body: [
            step('b', {
              parameters: { p },
              compensate: { type: 'tool', target: 't', parameters: { p: '${output} ${file}' } },
            }),
          ],
        }),
      );
    expect(each('${file.path}')).toEqual([]);
    expect(each('${fiel}')).toEqual([
      'unknown_name steps.0.body.0.parameters.p: Unknown reference "fiel". | Did you mean "file"?',
    ]);
  });
});

it('the input of a workflow is a map', () => {
  expect(said({ ...steps(step('a')), input: { type: 'array' } })).toEqual([
    'bad_schema input.type: "input" has to describe an object, so its type cannot be "array". | Write "type: object".',
  ]);
});
