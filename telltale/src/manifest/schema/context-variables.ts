import { z } from 'zod';
import { cel } from './cel.ts';
import { closed, type Slips } from './closed.ts';
import { derivedTrigger, resetTrigger } from './derived-trigger.ts';
import { jsonValue } from './json-value.ts';
import { identifier, name, nonEmptyText, text } from './names.ts';

const VARIABLE_TYPES = ['string', 'number', 'boolean', 'object', 'array', 'any'] as const;

const common = {
  name: identifier('The name of the variable.'),
  description: text('What it means; shown in prompts.').optional(),
  default: jsonValue('The value before anything sets it.').optional(),
  expose: z.array(name('An agent.')).optional().describe('Whose prompts show it; all if absent.'),
};

const type = z.enum(VARIABLE_TYPES).default('any').describe('What it may hold.');

const writers = z
  .array(z.enum(['model', 'workflow', 'user']))
  .default(['model', 'workflow', 'user'])
  .describe('Who may set it.');

const SLIPS: Slips = {
  value: 'Use "default" for the value before anything sets it.',
  initial: 'Use "default" for the value before anything sets it.',
  scope: 'Use "key: session | agent | user | PATH" to set how long a defined variable is kept.',
  visible_to: 'Use "expose" to set whose prompts show it.',
};

const onlyDerived = 'Only derived variables have this key.';

const defined = closed(
  {
    title: 'a defined variable',
    slips: {
      ...SLIPS,
      triggers: onlyDerived,
      expression: onlyDerived,
      reset_on: onlyDerived,
      collection: 'Use "store".',
      database: 'Use "store".',
    },
  },
  {
    ...common,
    type,
    key: nonEmptyText('What its value is kept by: session, agent, user, or a path.').default('session'),
    store: name("A sql relic that keeps it, in place of the runtime's own store.").optional(),
    writers,
  },
);

const runtime = closed(
  {
    title: 'a runtime variable',
    slips: {
      ...SLIPS,
      key: 'Only defined variables have a key. A runtime variable lives for the session.',
      triggers: onlyDerived,
      expression: onlyDerived,
      reset_on: onlyDerived,
    },
  },
  { ...common, type, writers },
);

const derived = closed(
  {
    title: 'a derived variable',
    exactlyOne: [['triggers', 'expression']],
    slips: {
      ...SLIPS,
      trigger: 'Use "triggers", a list.',
      type: 'A derived variable has the value that its triggers set.',
      key: 'Only defined variables have a key.',
      set: 'Put "set" into a trigger.',
    },
  },
  {
    ...common,
    triggers: z
      .array(derivedTrigger)
      .min(1)
      .optional()
      .describe('What sets it; the first that matches counts.'),
    reset_on: z
      .array(resetTrigger)
      .optional()
      .describe('What puts the default back, whichever trigger set it.'),
    expression: cel('CEL over other variables and the metadata, in place of triggers.').optional(),
    writers: z
      .array(z.enum(['derived']))
      .default(['derived'])
      .describe('A derived variable is never set by hand.'),
  },
);

/** Variables of a session, in three classes. */
export const contextVariables = closed(
  {
    title: '"context_variables"',
    id: 'ContextVariables',
    description:
      'Named values beside the metadata; $name and vars.name read them. A context_variables.json in the folder of an agent adds to its own.',
    slips: {
      defined_variables: 'Use "defined".',
      runtime_variables: 'Use "runtime".',
      derived_variables: 'Use "derived".',
    },
  },
  {
    defined: z.array(defined).prefault([]).describe('Kept between runs, written through at once.'),
    runtime: z.array(runtime).prefault([]).describe('Live as long as the session.'),
    derived: z.array(derived).prefault([]).describe('Computed from events, never set by hand.'),
  },
);
