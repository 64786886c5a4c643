import { z } from 'zod';
import { choiceByValue } from './choice.ts';
import { closed, type Slips } from './closed.ts';
import { cel, conditions } from './decision.ts';
import { eventType } from './trigger.ts';
import {
  count,
  identifier,
  jsonValue,
  name,
  nonEmptyText,
  pattern,
  positiveDuration,
  targetName,
  text,
} from './values.ts';

const textMatch = closed(
  {
    title: '"match"',
    description: 'What the text must be.',
    exactlyOne: [['equals', 'contains', 'matches']],
    slips: {
      regex: 'Use "matches".',
      pattern: 'Use "matches".',
      equal: 'Use "equals".',
      exact: 'Use "equals".',
    },
  },
  {
    equals: z.string().describe('Exactly this text: no trimming, no case folding.').optional(),
    contains: z.string().min(1).describe('This text anywhere in it.').optional(),
    matches: pattern('A regular expression (RE2) found in it.').optional(),
  },
);

const TRIGGER_SLIPS: Slips = {
  value: 'Use "set" for the value that the variable takes.',
  reset: 'Use "reset_on", a list of triggers.',
  condition: 'For conditions on metadata, use a trigger of type metadata_match with "conditions".',
};

/** A type that the embedding program registers: `createRuntime({ derivedTriggers: { "acme:tone": … } })`. */
const REGISTERED = /^[A-Za-z][A-Za-z0-9_-]*:[A-Za-z][A-Za-z0-9_-]*$/;

const registeredName = z.string().check(z.regex(REGISTERED)).register(z.globalRegistry, {
  description: 'A type that the program around the runtime registers.',
  expects: 'the name of a registered type, like "acme:tone"',
}) as unknown as z.ZodType<`${string}:${string}`>;

/**
 * The types of trigger that can set a derived variable. Add new ones here, so that they appear in the schema and docs.
 * Their behavior is in triggers/derived/built-in-types.ts, which does not compile if one is missing.
 */
const triggerTypes = <Common extends z.core.$ZodLooseShape>(common: Common, commonSlips: Slips) => {
  const trigger = <Shape extends z.core.$ZodLooseShape>(type: string, shape: Shape, slips: Slips = {}) =>
    closed(
      { title: `a trigger of type ${type}`, slips: { ...commonSlips, ...slips } },
      { ...shape, ...common },
    );
  return {
    agent_text: trigger(
      'agent_text',
      {
        type: z.literal('agent_text'),
        agent: name("Whose text; any agent's if absent.").optional(),
        in: z
          .enum(['response', 'thought', 'text'])
          .default('response')
          .describe('Which whole text is compared.'),
        match: textMatch,
      },
      { equals: 'Put it under "match: { equals }".', contains: 'Put it under "match: { contains }".' },
    ).describe('An agent said something.'),
    agent_turn_count: trigger(
      'agent_turn_count',
      {
        type: z.literal('agent_turn_count'),
        agent: name("Whose turns; the session's own agent if absent.").optional(),
        at_least: count('The number of turns from which it holds.'),
      },
      { count: 'Use "at_least".', turns: 'Use "at_least".' },
    ).describe('An agent reached a number of turns.'),
    tool_response: trigger(
      'tool_response',
      {
        type: z.literal('tool_response'),
        tool: targetName('Which tool.'),
        status: z
          .enum(['ok', 'error', 'timeout', 'skipped', 'interrupted'])
          .default('ok')
          .describe('How the call ended.'),
        match: conditions('Conditions on the result.').optional(),
      },
      { name: 'Use "tool".' },
    ).describe('A tool answered.'),
    metadata_match: trigger('metadata_match', {
      type: z.literal('metadata_match'),
      conditions: conditions('Conditions on the metadata.'),
    }).describe('The metadata matches.'),
    event: trigger(
      'event',
      {
        type: z.literal('event'),
        event: eventType('The type of the event.'),
        match: conditions('Conditions on its fields.').optional(),
      },
      {
        name: 'The type of the event is "event".',
        conditions: 'Conditions on an event\'s fields are "match".',
      },
    ).describe('An event appeared on the log.'),
    timer_expired: trigger(
      'timer_expired',
      {
        type: z.literal('timer_expired'),
        after: positiveDuration('How long after.'),
        since: eventType('The type of the event that starts the time.').default('session.started'),
      },
      { timeout: 'Use "after".', duration: 'Use "after".' },
    ).describe('Time has passed.'),
    function: trigger(
      'function',
      {
        type: z.literal('function'),
        artifact: name('The artifact: sandboxed and pure.'),
        method: name('Its method.'),
        fallback: jsonValue('What counts when it is missing, fails or is too slow.'),
      },
      { invoke: 'Here the artifact is "artifact".' },
    ).describe('An artifact decides.'),
    /** Its other keys are checked against its registered schema when an agent is prepared. */
    registered: z
      .looseObject({ type: registeredName, ...common })
      .describe("A type that the program around the runtime registers; its other keys are that type's own."),
  };
};

const OPEN = { fits: REGISTERED, branch: 'registered' } as const;

const RESET_SLIP = 'What resets a variable puts its default back.';

/** The trigger that restores the default. */
const resetTrigger = choiceByValue(
  'A trigger of "reset_on"',
  'type',
  triggerTypes({}, { ...TRIGGER_SLIPS, set: RESET_SLIP, reset_on: RESET_SLIP }),
  undefined,
  OPEN,
).meta({ id: 'ResetTrigger', description: 'What resets a derived variable.' });

const derivedTrigger = choiceByValue(
  'A trigger of a derived variable',
  'type',
  triggerTypes(
    {
      set: jsonValue('The value the variable takes; true if absent.').default(true),
      reset_on: z
        .array(resetTrigger)
        .prefault([])
        .describe('What puts the default back, where this trigger has set the variable.'),
    },
    TRIGGER_SLIPS,
  ),
  undefined,
  OPEN,
).meta({ id: 'DerivedTrigger', description: 'What sets a derived variable.' });

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

/** The variables of a session, in three classes. */
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
