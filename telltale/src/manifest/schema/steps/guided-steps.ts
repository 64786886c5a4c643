import { z } from 'zod';
import { PROMPT_KEYS, promptKeys } from '../decision.ts';
import { modelRefOrAlias } from '../model-ref.ts';
import { name } from '../names.ts';
import { count } from '../numbers.ts';
import { userSchema } from '../user-schema.ts';
import { verify } from '../verify.ts';
import { defineStep } from './define-step.ts';

const agent = () => name('The agent that works on it; the bound or triggering one if absent.').optional();

/** Steps that an agent works on while the runtime owns the progress. */
export const guidedSteps = () => ({
  task: defineStep(
    'task',
    {
      description: 'An agent works on the prompt until it completes the step.',
      exactlyOne: [PROMPT_KEYS],
      slips: {
        target: 'The agent of a task is "agent".',
        instructions: 'It is "prompt".',
        max_iterations: 'It is "max_turns".',
        verifier: 'It is "verify".',
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
        target: 'The agent of a plan is "agent".',
        max_turns: 'A plan takes one call, at most one re-plan and a closing call.',
      },
    },
    {
      type: z.literal('plan'),
      agent: agent(),
      ...promptKeys('What to plan.'),
      model: modelRefOrAlias("The model; the agent's own if absent.").optional(),
      approval: z
        .enum(['always', 'never'])
        .default('never')
        .describe('always: a person approves the plan before it is executed.'),
      verify: verify.optional(),
    },
  ),
});
