import { z } from 'zod';
import { choice } from './choice.ts';
import { closed } from './closed.ts';
import { PROMPT_KEYS, promptKeys, test } from './decision.ts';
import { invocation } from './invocation.ts';
import { isMap } from './is-map.ts';
import { name } from './names.ts';

const stepName = name('A step.');

const entry = closed(
  {
    title: 'an entry of "inject_into"',
    exactlyOne: [['always', 'if']],
    slips: { when: 'Use "if".', condition: 'Use "if".', name: 'Use "step" for the step.' },
  },
  {
    step: stepName,
    always: z.literal(true).describe('Without condition.').optional(),
    if: test('When it is injected.').optional(),
  },
);

const list = z
  .array(choice([stepName, entry], (value) => (isMap(value) ? entry : stepName)))
  .describe('Step names, or entries { step, always: true } or { step, if }.');

const asked = invocation(
  'StepsInvocation',
  z.array(stepName).describe('The steps when the artifact is missing, fails or is too slow.'),
);

/** A fragment of prompt, and the steps whose prompt it joins. */
export const component = closed(
  {
    title: 'a component',
    id: 'Component',
    description: 'A fragment of prompt that joins the prompts of steps.',
    exactlyOne: [PROMPT_KEYS],
    slips: {
      text: 'Use "prompt".',
      content: 'Use "prompt".',
      template: 'Use "prompt".',
      inject: 'Use "inject_into".',
      steps: 'Use "inject_into".',
    },
  },
  {
    name: name('The name of the component.'),
    ...promptKeys('The fragment.'),
    inject_into: choice([list, asked], (value) => (isMap(value) ? asked : list)).describe(
      'Step names; entries { step, always: true } or { step, if }; or an invocation that returns the list.',
    ),
  },
);
