import { z } from 'zod';
import { choice } from '../choice.ts';
import { closed } from '../closed.ts';
import { PROMPT_KEYS, promptKeys, test } from '../decision.ts';
import { modelRefOrAlias } from '../model-ref.ts';
import { name, nonEmptyText } from '../names.ts';
import { count } from '../numbers.ts';
import { userSchema } from '../user-schema.ts';
import { verify } from '../verify.ts';
import { defineStep } from './define-step.ts';

const agent = () => name('The agent that works on it; the bound or triggering one if absent.').optional();

const fragments = () =>
  z
    .array(
      closed(
        {
          title: 'a fragment',
          slips: { when: 'Use "if".', condition: 'Use "if".', prompt: 'Use "text".' },
        },
        {
          text: nonEmptyText('What joins the prompt; references count in it.'),
          if: test('When it does: CEL or an invocation; always if absent.').optional(),
        },
      ),
    )
    .prefault([])
    .describe('Parts that join the prompt, in order, each where its test holds when the step begins.');

const confirm = () =>
  choice([z.literal(true), nonEmptyText('What the person is asked.')], (value) =>
    value === true ? z.literal(true) : nonEmptyText('What the person is asked.'),
  )
    .optional()
    .describe('A person says whether the step may begin: true, or what they are asked.');

/** Steps that an agent works on while the runtime owns the progress. */
export const guidedSteps = () => ({
  task: defineStep(
    'task',
    {
      description: 'An agent works on the prompt until it completes the step.',
      exactlyOne: [PROMPT_KEYS],
      slips: {
        target: 'Use "agent" for the agent of a task.',
        instructions: 'Use "prompt".',
        max_iterations: 'Use "max_turns".',
      },
    },
    {
      type: z.literal('task'),
      agent: agent(),
      ...promptKeys('What to do.'),
      requires: z
        .record(
          name('A key of context_updates.'),
          userSchema('A JSON Schema (2020-12) that its value must satisfy.'),
        )
        .prefault({})
        .describe('What complete_step must bring in context_updates, each with its schema.'),
      evidence: z
        .array(name('A tool, relic, agent or workflow.'))
        .prefault([])
        .describe(
          'Proof, not words: complete_step must name an action of each that was done in this step and succeeded.',
        ),
      fragments: fragments(),
      confirm: confirm(),
      max_turns: count('The most turns before it fails.').optional(),
      verify: verify.optional(),
    },
  ),
  plan: defineStep(
    'plan',
    {
      description: 'One call plans; the runtime executes the plan without the model.',
      exactlyOne: [PROMPT_KEYS],
      slips: {
        target: 'Use "agent" for the agent of a plan.',
        max_turns: 'Remove it. A plan always takes one call, at most one re-plan and a closing call.',
      },
    },
    {
      type: z.literal('plan'),
      agent: agent(),
      ...promptKeys('What to plan.'),
      fragments: fragments(),
      model: modelRefOrAlias("The model; the agent's own if absent.").optional(),
      tools: z
        .array(name('A tool, relic, agent or workflow.'))
        .optional()
        .describe('What the plan may call; all that the agent can, if absent.'),
      approval: z
        .enum(['always', 'never'])
        .default('never')
        .describe('always: a person approves the plan before it is executed.'),
      verify: verify.optional(),
    },
  ),
});
