import { z } from 'zod';
import { choiceByValue } from './choice.ts';
import { closed, type Slips } from './closed.ts';
import { conditions } from './conditions.ts';
import { eventType } from './event-types.ts';
import { jsonValue } from './json-value.ts';
import { name, targetName } from './names.ts';
import { count } from './numbers.ts';
import { pattern } from './pattern.ts';
import { positiveDuration } from './quantities.ts';

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

const SLIPS: Slips = {
  value: 'Use "set" for the value that the variable takes.',
  reset: 'Use "reset_on", a list of triggers.',
  condition: 'For conditions on metadata, use a trigger of type metadata_match with "conditions".',
};

/** What a program that embeds the runtime registers: `createRuntime({ derivedTriggers: { "acme:tone": … } })`. */
const REGISTERED = /^[A-Za-z][A-Za-z0-9_-]*:[A-Za-z][A-Za-z0-9_-]*$/;

const registeredName = z.string().check(z.regex(REGISTERED)).register(z.globalRegistry, {
  description: 'A type that the program around the runtime registers.',
  expects: 'the name of a registered type, like "acme:tone"',
}) as unknown as z.ZodType<`${string}:${string}`>;

/**
 * The types of trigger that can set a derived variable. New ones register here, and appear in the schema and docs; what
 * they do is in triggers/derived/built-in-types.ts, which does not compile without them.
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
    /** Its other keys are checked against the schema it was registered with, when an agent is prepared. */
    registered: z
      .looseObject({ type: registeredName, ...common })
      .describe("A type that the program around the runtime registers; its other keys are that type's own."),
  };
};

const OPEN = { fits: REGISTERED, branch: 'registered' } as const;

const RESET_SLIP = 'What resets a variable puts its default back.';

/** What puts the default back. */
export const resetTrigger = choiceByValue(
  'A trigger of "reset_on"',
  'type',
  triggerTypes({}, { ...SLIPS, set: RESET_SLIP, reset_on: RESET_SLIP }),
  undefined,
  OPEN,
).meta({ id: 'ResetTrigger', description: 'What resets a derived variable.' });

export const derivedTrigger = choiceByValue(
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
    SLIPS,
  ),
  undefined,
  OPEN,
).meta({ id: 'DerivedTrigger', description: 'What sets a derived variable.' });
