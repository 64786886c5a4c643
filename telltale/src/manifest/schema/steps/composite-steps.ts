import { z } from 'zod';
import { choice } from '../choice.ts';
import { closed } from '../closed.ts';
import { test } from '../decision.ts';
import { jsonValue } from '../json-value.ts';
import { identifier } from '../names.ts';
import { count, flag } from '../numbers.ts';
import { defineStep } from './define-step.ts';

const LIST_REFERENCE = /^\$(?:\{[^{}]+\}|[A-Za-z_][A-Za-z0-9_.[\]-]*)$/;

const BODY_SLIPS = { steps: 'Use "body".', do: 'Use "body".' };
const BRANCH_SLIPS = {
  steps: 'Use "branches": a list of steps, or of lists of steps.',
  body: 'Use "branches".',
};

/** Steps that hold other steps; `step` is what may stand inside. */
export function compositeSteps<Step>(step: z.ZodType<Step>) {
  const written = z.array(jsonValue('An item.')).describe('The items.');
  const referred = z.string().regex(LIST_REFERENCE).meta({
    description: 'A reference to a list.',
    expects: `a list, or one reference to a list, like \${steps.NAME.output}`,
  });

  const body = (description: string) => z.array(step).min(1).describe(description);
  const one = step.transform((only): Step[] => [only]);
  const several = body('Steps, one after the other.');
  const branches = z
    .array(choice([several, one], (value) => (Array.isArray(value) ? several : one)))
    .min(1)
    .describe('What runs side by side: each a step or a list of steps.');
  const max_parallel = count('How many at a time; all if absent.').optional();
  const switchCase = closed(
    {
      title: 'a case',
      slips: {
        ...BODY_SLIPS,
        when: 'Use "if".',
        condition: 'Use "if".',
        case: 'Use "if".',
        value: 'Use "if", and write the comparison in CEL.',
      },
    },
    { if: test('Whether this case counts.'), body: body('Its steps.') },
  );
  return {
    parallel: defineStep(
      'parallel',
      {
        description: 'Branches run side by side.',
        slips: { ...BRANCH_SLIPS, concurrency: 'Use "max_parallel".' },
      },
      {
        type: z.literal('parallel'),
        branches,
        max_parallel,
        fail_fast: flag('true: a failed branch cancels the others.').default(true),
      },
    ),
    race: defineStep(
      'race',
      {
        description: 'The first branch to succeed cancels the rest.',
        slips: { ...BRANCH_SLIPS, fail_fast: 'In a race the first to succeed cancels the rest.' },
      },
      { type: z.literal('race'), branches, max_parallel },
    ),
    foreach: defineStep(
      'foreach',
      {
        description: 'Its body runs once for each item.',
        slips: {
          ...BODY_SLIPS,
          items: 'Use "in".',
          over: 'Use "in".',
          item: 'Use "as".',
          concurrency: 'Use "max_parallel".',
        },
      },
      {
        type: z.literal('foreach'),
        in: choice([written, referred], (value) => (typeof value === 'string' ? referred : written)).describe(
          'The items, or a reference to them.',
        ),
        as: identifier('The name of the item inside the body.').default('item'),
        max: count('The most items: those behind them are left out.').optional(),
        max_parallel: count('How many at a time; 16 if absent.').optional(),
        body: body('What runs for each item.'),
      },
    ),
    loop: defineStep(
      'loop',
      {
        description: 'Its body runs again and again.',
        exactlyOne: [['while', 'until']],
        slips: {
          ...BODY_SLIPS,
          max_iterations: 'Use "max".',
          times: 'Use "max".',
          limit: 'Use "max".',
          in: 'Use a foreach step to loop over items.',
        },
      },
      {
        type: z.literal('loop'),
        while: test('Runs as long as this holds, asked before each round.').optional(),
        until: test('Runs until this holds, asked after each round.').optional(),
        max: count('The most rounds.'),
        body: body('What runs in each round.'),
      },
    ),
    switch: defineStep(
      'switch',
      {
        description: 'The first case that holds runs.',
        slips: {
          on: 'Each case has its own "if".',
          value: 'Each case has its own "if".',
          branches: 'Use "cases".',
          else: 'Use "default".',
        },
      },
      {
        type: z.literal('switch'),
        cases: z.array(switchCase).min(1).describe('The cases, in order.'),
        default: body('What runs when no case holds.').optional(),
      },
    ),
    try: defineStep(
      'try',
      {
        description: 'Steps with a way out.',
        atLeastOne: [['catch', 'finally']],
        slips: { ...BODY_SLIPS, except: 'Use "catch".', on_failure: 'Use "catch".' },
      },
      {
        type: z.literal('try'),
        body: body('What is tried.'),
        catch: body('What runs when the body fails.').optional(),
        finally: body('What runs in any case.').optional(),
      },
    ),
  };
}
