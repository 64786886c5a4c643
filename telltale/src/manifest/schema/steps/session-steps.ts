import { z } from 'zod';
import { jsonObject, jsonValue } from '../json-value.ts';
import { name, nonEmptyText, text } from '../names.ts';
import { orReference } from '../reference.ts';
import { defineStep } from './define-step.ts';

const valueSlips = {
  value: 'Use "values: { NAME: value }".',
  fields: 'Use "values".',
  metadata: 'Use "values".',
  variables: 'Use "values".',
  set: 'Use "values".',
  variable: 'Use "values: { NAME: value }".',
};

/** Steps that act on the session. */
export const sessionSteps = () => ({
  set_metadata: defineStep(
    'set_metadata',
    { description: "Sets fields of the session's metadata.", slips: valueSlips },
    {
      type: z.literal('set_metadata'),
      values: orReference('The fields and their values.', jsonObject('The fields and their values.')),
    },
  ),
  set_variable: defineStep(
    'set_variable',
    { description: 'Sets context variables.', slips: valueSlips },
    {
      type: z.literal('set_variable'),
      values: orReference('The variables and their values.', jsonObject('The variables and their values.')),
    },
  ),
  notify: defineStep(
    'notify',
    {
      description: 'Tells people.',
      slips: { text: 'Use "message".', prompt: 'Use "message".', channel: 'Use "to".' },
    },
    {
      type: z.literal('notify'),
      message: nonEmptyText('What is said.'),
      to: text("Who is told: a channel of the agent's notifications; all of them if absent.").optional(),
      data: jsonValue('What goes with it.').optional(),
    },
  ),
  emit: defineStep(
    'emit',
    {
      description: 'Puts an event of type custom on the log.',
      slips: { type_name: 'Use "event".', payload: 'Use "data".' },
    },
    {
      type: z.literal('emit'),
      event: name('The name of the event.'),
      data: jsonValue('What it carries.').optional(),
    },
  ),
});
