import { z } from 'zod';
import { choiceByValue } from './choice.ts';
import { closed, type Slips } from './closed.ts';
import { conditions, test } from './decision.ts';
import { webhookSecret } from './hooks.ts';
import { once } from './plain-values.ts';
import { clip } from './show-value.ts';
import {
  count,
  duration,
  finding,
  flag,
  name,
  positiveDuration,
  timeZone,
  type ValuesFinding,
} from './values.ts';

/** The durable events of the log. `match: { name }` distinguishes `custom` events. */
const EVENT_TYPES = [
  'session.started',
  'session.completed',
  'session.failed',
  'session.stalled',
  'session.cancelled',
  'session.resumed',
  'session.waiting',
  'turn.started',
  'turn.completed',
  'turn.failed',
  'model.output',
  'thought',
  'text',
  'response',
  'message.received',
  'audit',
  'action.declared',
  'action.started',
  'action.completed',
  'action.failed',
  'action.skipped',
  'action.retrying',
  'action.cancelled',
  'action.interrupted',
  'action.compensated',
  'metadata.changed',
  'metadata.rejected',
  'variable.changed',
  'fault',
  'if.decided',
  'budget.charged',
  'prompt.compacted',
  'hook.ran',
  'component.injected',
  'artifact.written',
  'timer.set',
  'timer.fired',
  'handoff',
  'handoff.requested',
  'custom',
  'feed.updated',
  'feed.failed',
  'feed.added',
  'feed.removed',
  'trigger.fired',
  'trigger.suppressed',
  'workflow.started',
  'workflow.completed',
  'workflow.failed',
  'workflow.cancelled',
  'workflow.asked',
  'state.entered',
  'step.started',
  'step.completed',
  'step.failed',
  'step.skipped',
  'invoke',
  'verify',
  'review.requested',
  'review.resolved',
  'review.voided',
];

/** The events that are copied from a sub-agent's log to its parent's. */
const CHILD_TYPES = EVENT_TYPES.map((type) => `child.${type}`);

/** An event that can fire a trigger. Live deltas can't, because they are not on the log. */
export const eventType = (description: string) =>
  z.enum([...EVENT_TYPES, ...CHILD_TYPES]).describe(description);

interface CronField {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly words?: readonly string[];
  /** The widest step, if it is not the number of values. */
  readonly widest?: number;
}

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const DAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];
const NICKNAMES = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@hourly'];

const SECOND: CronField = { name: 'second', min: 0, max: 59 };
const FIELDS: readonly CronField[] = [
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day of the month', min: 1, max: 31 },
  { name: 'month', min: 1, max: 12, words: MONTHS },
  { name: 'day of the week', min: 0, max: 7, words: DAYS, widest: 7 },
];

const cron = (description: string) =>
  z
    .string()
    .check((ctx) => {
      const found = checkCron(ctx.value);
      if (found !== undefined) ctx.issues.push(finding(ctx.value, found));
    })
    .meta({ description, expects: 'a cron expression' });

/**
 * Five fields, or six starting with seconds; with lists, ranges, steps, and names of months and days. It also refuses
 * what the scheduling package would refuse: a step after a single number (`5/10`), and a step that is too wide.
 */
function checkCron(source: string): ValuesFinding | undefined {
  const text = source.trim();
  if (NICKNAMES.includes(text.toLowerCase())) return undefined;
  const parts = text.split(/\s+/);
  if (parts.length !== 5 && parts.length !== 6)
    return bad(`The schedule "${clip(source)}" has ${parts.length} fields.`);
  const fields = parts.length === 6 ? [SECOND, ...FIELDS] : FIELDS;
  for (const [index, field] of fields.entries()) {
    const part = parts[index] ?? '';
    if (!part.split(',').every((item) => fits(item, field)))
      return bad(`The schedule "${clip(source)}" has "${clip(part)}" in the field "${field.name}".`);
  }
  const [day = '', month = '', weekday = ''] = parts.slice(-3);
  if (!/^[*?]$/.test(weekday) || comes(day, month)) return undefined;
  return {
    code: 'bad_schedule',
    message: `The schedule "${clip(source)}" never runs, because that day does not exist in that month.`,
    hint: 'Write a day that exists in the month.',
  };
}

const LONGEST = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Whether any month in any year has one of these days. If the day of the week is given too, either one is enough. */
function comes(day: string, month: string): boolean {
  const [, , days, months] = FIELDS;
  if (days === undefined || months === undefined) return true;
  const first = Math.min(...valuesOf(day, days));
  return valuesOf(month, months).some((each) => first <= (LONGEST[each - 1] ?? 0));
}

/** The values that a valid field stands for. */
function valuesOf(part: string, field: CronField): readonly number[] {
  return part.split(',').flatMap((item) => {
    const [range = '', every] = item.split('/');
    const [from = '', to] =
      range === '*' || range === '?' ? [String(field.min), String(field.max)] : range.split('-');
    const start = numberOf(from, field) ?? field.min;
    const end = to === undefined ? start : (numberOf(to, field) ?? field.max);
    const step = Number(every ?? 1);
    return Array.from({ length: Math.floor((end - start) / step) + 1 }, (_, index) => start + index * step);
  });
}

function fits(item: string, field: CronField): boolean {
  const [range = '', every, ...rest] = item.split('/');
  if (rest.length > 0 || (every !== undefined && !isStep(every, field))) return false;
  if (range === '*' || range === '?') return true;
  const [from = '', to, ...more] = range.split('-');
  if (more.length > 0 || (to === undefined && every !== undefined)) return false;
  const start = numberOf(from, field);
  const end = to === undefined ? start : numberOf(to, field);
  return start !== undefined && end !== undefined && start <= end;
}

const isStep = (every: string, { min, max, widest = max - min + 1 }: CronField): boolean =>
  /^\d{1,2}$/.test(every) && Number(every) > 0 && Number(every) <= widest;

function numberOf(text: string, { min, max, words }: CronField): number | undefined {
  const word = words?.indexOf(text.toUpperCase()) ?? -1;
  if (word >= 0) return word + min;
  if (!/^\d{1,2}$/.test(text)) return undefined;
  const value = Number(text);
  return value >= min && value <= max ? value : undefined;
}

const bad = (message: string): ValuesFinding => ({
  code: 'bad_schedule',
  message,
  hint: `Write minute, hour, day of the month, month, day of the week, like "*/10 8-18 * * MON-FRI"; or one of ${NICKNAMES.join(', ')}.`,
});

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
