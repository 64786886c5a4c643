import { z } from 'zod';
import { choiceByValue } from './choice.ts';
import { closed, type Slips } from './closed.ts';
import { conditions } from './conditions.ts';
import { cron } from './cron.ts';
import { test } from './decision.ts';
import { eventType } from './event-types.ts';
import { name } from './names.ts';
import { count, flag } from './numbers.ts';
import { once } from './once.ts';
import { duration, positiveDuration } from './quantities.ts';
import { timeZone } from './times.ts';
import { webhookSecret } from './webhook-secret.ts';

const pacing = once(() => ({
  debounce: duration('Wait until nothing has changed for this long before firing.').optional(),
  cooldown: duration('The shortest time between two firings.').optional(),
  delay: duration('Fire this much later.').optional(),
  priority: z
    .int()
    .default(0)
    .meta({ description: 'Higher goes first; then file order.', expects: 'a whole number' }),
  concurrency: closed(
    {
      title: '"concurrency"',
      description: 'How many runs may be under way.',
      slips: { limit: 'Use "max".', on_busy: 'Use "when_busy".', policy: 'Use "when_busy".' },
    },
    {
      max: count('Runs at a time.').default(1),
      when_busy: z.enum(['skip', 'queue', 'replace']).default('skip').describe('What happens to one more.'),
    },
  ).optional(),
}));

const matching = () => ({
  conditions: conditions('The condition map.').optional(),
  match_all: flag('false: any of the top-level conditions is enough.').default(true),
  test: test('CEL or an invocation, in place of conditions.').optional(),
  fire: z
    .enum(['on_enter', 'on_change', 'on_update', 'on_exit', 'once'])
    .default('on_enter')
    .describe(
      'When it fires: as the condition becomes true, changes within it, each update, as it becomes false, once a session.',
    ),
  cancel_on_exit: flag('true: the run is cancelled when the condition no longer holds.').default(false),
  ...pacing(),
});

const SLIPS: Slips = {
  condition: 'Use "conditions" (a map) or "test" (CEL).',
  if: 'Use "test".',
  when: 'Use "test", or "conditions".',
  mode: 'Use "fire" to set when it fires.',
  throttle: 'Use "cooldown".',
  max_concurrent: 'Use "concurrency: { max }".',
  when_busy: 'Put it in "concurrency: { max, when_busy }".',
  workflow: 'Put a trigger into the workflow that it starts.',
};

const stateOnly = 'Only metadata_match and variable_match have this key.';
const EVENT_SLIPS: Slips = { ...SLIPS, fire: stateOnly, cancel_on_exit: stateOnly, match_all: stateOnly };

const triggers = () => ({
  metadata_match: closed(
    {
      title: 'a trigger of type metadata_match',
      exactlyOne: [['conditions', 'test']],
      slips: { ...SLIPS, match: 'Use "conditions".' },
    },
    { type: z.literal('metadata_match'), ...matching() },
  ).describe('The metadata matches.'),
  variable_match: closed(
    {
      title: 'a trigger of type variable_match',
      exactlyOne: [['conditions', 'test']],
      slips: { ...SLIPS, match: 'Use "conditions".' },
    },
    { type: z.literal('variable_match'), ...matching() },
  ).describe('Context variables match.'),
  event: closed(
    {
      title: 'a trigger of type event',
      atMostOne: [['match', 'test']],
      slips: {
        ...EVENT_SLIPS,
        conditions: 'Conditions on an event\'s fields are "match".',
        name: 'The type of the event is "event".',
        on: 'The type of the event is "event".',
      },
    },
    {
      type: z.literal('event'),
      event: eventType('The type of the event.'),
      match: conditions('Conditions on its fields.').optional(),
      test: test('CEL or an invocation, in place of match.').optional(),
      ...pacing(),
    },
  ).describe('An event appeared on the log.'),
  schedule: closed(
    {
      title: 'a trigger of type schedule',
      exactlyOne: [['cron', 'every']],
      slips: {
        ...EVENT_SLIPS,
        interval: 'Use "every".',
        schedule: 'Use "cron" or "every".',
        time_zone: 'Use "timezone".',
        tz: 'Use "timezone".',
        catch_up: 'Use "missed".',
        catchup: 'Use "missed".',
        misfire: 'Use "missed".',
      },
    },
    {
      type: z.literal('schedule'),
      cron: cron(
        'Minute, hour, day of the month, month, day of the week; seconds may stand first.',
      ).optional(),
      every: positiveDuration('How often.').optional(),
      timezone: timeZone('The time zone of cron.').default('UTC'),
      missed: z
        .enum(['skip', 'once', 'all'])
        .default('once')
        .describe(
          'What becomes of times at which nothing ran: none is made up for, one run stands for all, or each has a run (the newest 100).',
        ),
      ...pacing(),
    },
  ).describe('Time has come.'),
  webhook: closed(
    {
      title: 'a trigger of type webhook',
      slips: {
        ...EVENT_SLIPS,
        path: 'Use "hook", the name after /hooks/.',
        name: 'Use "hook", the name after /hooks/.',
        url: 'Use "hook", the name after /hooks/.',
        token: 'Use "secret".',
        key: 'Use "secret".',
        scheme: 'Use "signature".',
        provider: 'Use "signature".',
      },
    },
    {
      type: z.literal('webhook'),
      hook: name("The name after /hooks/; the workflow's own if absent.").optional(),
      secret: webhookSecret(
        'The key of the HMAC signature, whsec_BASE64 or any text; take it from the environment.',
      ),
      signature: z
        .enum(['standard', 'github'])
        .default('standard')
        .describe('How the sender signs: as Standard Webhooks say, or as GitHub does.'),
      ...pacing(),
    },
  ).describe('A signed POST to /hooks/NAME.'),
  manual: closed(
    {
      title: 'a trigger of type manual',
      slips: {
        ...EVENT_SLIPS,
        debounce: 'Who starts it by hand decides when.',
        conditions: 'A manual trigger has no conditions.',
      },
    },
    {
      type: z.literal('manual'),
      priority: pacing().priority,
      concurrency: pacing().concurrency,
    },
  ).describe('CLI, API, console, or an action of type workflow.'),
});

export const trigger = once(() =>
  choiceByValue('A trigger', 'type', triggers()).meta({
    id: 'Trigger',
    description: 'What starts the workflow.',
  }),
);
