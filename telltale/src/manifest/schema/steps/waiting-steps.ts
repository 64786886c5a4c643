import { z } from 'zod';
import { choiceByKey } from '../choice.ts';
import { conditions } from '../conditions.ts';
import { PROMPT_KEYS, promptKeys } from '../decision.ts';
import { eventType } from '../event-types.ts';
import { nonEmptyText } from '../names.ts';
import { positiveDuration } from '../quantities.ts';
import { orReference } from '../reference.ts';
import { moment } from '../times.ts';
import { defineStep } from './define-step.ts';

export const approvalStep = () =>
  defineStep(
    'approval',
    {
      description: 'Waits for a person.',
      exactlyOne: [PROMPT_KEYS],
      slips: {
        message: 'Use "prompt".',
        approvers: 'Use "assignee".',
        approver: 'Use "assignee".',
        choices: 'Use "options".',
      },
    },
    {
      type: z.literal('approval'),
      ...promptKeys('What the person is asked.'),
      options: z
        .array(nonEmptyText('An answer.'))
        .min(1)
        .default(['approve', 'reject'])
        .describe('The answers to choose from.'),
      assignee: nonEmptyText('Who is asked; anyone if absent.').optional(),
      on_timeout: nonEmptyText('What happens after "timeout": fail, or one of the options.').default('fail'),
    },
  );

const slips = {
  duration: 'Use "for".',
  seconds: 'Use "for".',
  sleep: 'Use "for".',
  delay: 'Use "for".',
  on: 'Use "event".',
  at: 'Use "until".',
};

const wait = <Shape extends z.core.$ZodLooseShape>(description: string, shape: Shape) =>
  defineStep('wait', { description, slips }, { type: z.literal('wait'), ...shape });

/** Durable: it holds no process. */
export const waitStep = () =>
  choiceByKey('A wait step', {
    for: wait('Waits for a time.', { for: orReference('How long.', positiveDuration('How long.')) }),
    until: wait('Waits until a moment.', {
      until: orReference('The moment.', moment('The moment, ISO 8601.')),
    }),
    event: wait('Waits for an event.', {
      event: eventType('The type of the event.'),
      match: conditions('Conditions on its fields.').optional(),
    }),
  });
