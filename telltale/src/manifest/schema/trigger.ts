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
  debounce: duration('Wait for this much quiet before firing.').optional(),
  cooldown: duration('The least time between two firings.').optional(),
  delay: duration('Fire this much later.').optional(),
  priority: z
    .int()
    .default(0)
    .meta({ description: 'Higher goes first; then file order.', expects: 'a whole number' }),
  concurrency: closed(
    {
      title: '"concurrency"',
      description: 'How many runs may be under way.',
      slips: { limit: 'It is "max".', on_busy: 'It is "when_busy".', policy: 'It is "when_busy".' },
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
  condition: 'It is "conditions" (a map) or "test" (CEL).',
  if: 'It is "test".',
  when: 'It is "test", or "conditions".',
  mode: 'When it fires is "fire".',
  throttle: 'It is "cooldown".',
  max_concurrent: 'It is "concurrency: { max }".',
  when_busy: 'It stands in "concurrency: { max, when_busy }".',
  workflow: 'A trigger stands in the workflow that it starts.',
};

const stateOnly = 'Only metadata_match and variable_match have it.';
const EVENT_SLIPS: Slips = { ...SLIPS, fire: stateOnly, cancel_on_exit: stateOnly, match_all: stateOnly };

const triggers = () => ({
  metadata_match: closed(
    {
      title: 'a trigger of type metadata_match',
      exactlyOne: [['conditions', 'test']],
      slips: { ...SLIPS, match: 'It is "conditions".' },
    },
    { type: z.literal('metadata_match'), ...matching() },
  ).describe('The metadata matches.'),
  variable_match: closed(
    {
      title: 'a trigger of type variable_match',
      exactlyOne: [['conditions', 'test']],
      slips: { ...SLIPS, match: 'It is "conditions".' },
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
        interval: 'It is "every".',
        schedule: 'It is "cron" or "every".',
        time_zone: 'It is "timezone".',
        tz: 'It is "timezone".',
        catch_up: 'It is "missed".',
        catchup: 'It is "missed".',
        misfire: 'It is "missed".',
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
        path: 'It is "hook", the name after /hooks/.',
        name: 'It is "hook", the name after /hooks/.',
        url: 'It is "hook", the name after /hooks/.',
        token: 'It is "secret".',
        key: 'It is "secret".',
        scheme: 'It is "signature".',
        provider: 'It is "signature".',
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
