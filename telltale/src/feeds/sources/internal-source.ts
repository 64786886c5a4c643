import { randomInt, randomUUID } from 'node:crypto';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { nearest, suggest } from '../../lib/nearest.ts';
import type { ActionStatus } from '../../log/action.ts';
import type { SessionState } from '../../log/state.ts';
import type { FieldMetrics } from '../../log/state-metrics.ts';
import { clip } from '../../manifest/schema/show-value.ts';
import { compileCheck } from '../../tools/check-parameters.ts';
import type { FeedSource } from '../feed.ts';
import { badParams, type SourceDeps } from './source.ts';

const CLOCK_FORMATS = ['ISO8601', 'RFC2822', 'unix', 'unix_ms', 'date', 'time'];

/** The time as `format` says, in the zone that `timezone` says: ISO 8601 and UTC if absent. */
function timeNow({ format = 'ISO8601', timezone = 'UTC' }: JsonObject, now: number): Json {
  if (format === 'unix') return Math.floor(now / 1000);
  if (format === 'unix_ms') return now;
  const part = partsIn(now, String(timezone));
  const date = `${part('year')}-${part('month')}-${part('day')}`;
  const time = `${part('hour')}:${part('minute')}:${part('second')}`;
  const offset = part('timeZoneName').replace('GMT', '') || '+00:00';
  switch (format) {
    case 'date':
      return date;
    case 'time':
      return time;
    case 'RFC2822':
      return `${part('weekday')}, ${part('day')} ${MONTHS[Number(part('month')) - 1]} ${part('year')} ${time} ${offset.replace(':', '')}`;
    default:
      return `${date}T${time}${offset === '+00:00' ? 'Z' : offset}`;
  }
}

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

function partsIn(now: number, zone: string): (type: Intl.DateTimeFormatPartTypes) => string {
  const two = '2-digit';
  const clock = { hour: two, minute: two, second: two, hourCycle: 'h23' } as const;
  const calendar = { year: 'numeric', month: two, day: two, weekday: 'short' } as const;
  try {
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      timeZoneName: 'longOffset',
      ...calendar,
      ...clock,
    });
    const parts = format.formatToParts(now);
    return (type) => parts.find((part) => part.type === type)?.value ?? '';
  } catch {
    throw zoneUnknown(zone);
  }
}

const zoneUnknown = (zone: string) => {
  const near = nearest(zone, Intl.supportedValuesOf('timeZone'));
  return badParams(
    'the internal source "system_clock"',
    `"/timezone" is "${zone.slice(0, 100)}", which is no time zone.`,
    near === undefined ? 'Write it like Europe/Berlin, or UTC.' : `Did you mean "${near}"?`,
  );
};

export type InternalSource = Extract<FeedSource, { readonly type: 'internal' }>;
type Action = InternalSource['action'];

const MAX_TURNS = 50;
const NUMBER = { type: 'number', minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };

const PARAMS: Readonly<Record<Action, JsonObject>> = {
  system_clock: { format: { enum: CLOCK_FORMATS }, timezone: { type: 'string' } },
  random: {
    min: NUMBER,
    max: NUMBER,
    integer: { type: 'boolean' },
    choices: { type: 'array', minItems: 1, maxItems: 10_000 },
    uuid: { const: true },
  },
  env: { names: { type: 'array', items: { type: 'string' }, maxItems: 1_000 } },
  metadata: {},
  history: { turns: { type: 'integer', minimum: 1, maximum: MAX_TURNS } },
  metrics: {},
  session_stats: {},
  debug_context: {},
};

const ACTIONS = Object.keys(PARAMS) as readonly Action[];
/** Each compiled once a process, when it is first needed. */
const CHECKS = new Map(
  ACTIONS.map((action) => {
    const schema = { type: 'object', properties: PARAMS[action], additionalProperties: false };
    return [action, compileCheck(schema, `the internal source "${action}"`)] as const;
  }),
);

/** What is wrong with the params of an internal source. */
export const checkInternalParams = (action: Action, params: JsonObject): RuntimeError | undefined =>
  CHECKS.get(action)?.(params);

/** What the runtime knows itself. */
export function createInternalSource(deps: SourceDeps) {
  return async ({ action }: InternalSource, params: JsonObject): Promise<Json> => {
    const wrong = checkInternalParams(action, params);
    if (wrong !== undefined) throw wrong;
    const { state } = deps;
    const { clock, env, permissions } = deps.targets.deps;
    switch (action) {
      case 'system_clock':
        return timeNow(params, clock.now());
      case 'random':
        return randomValue(params);
      case 'env':
        return environmentOf(params, permissions.environment, env);
      case 'metadata':
        return state.metadata;
      case 'history':
        return historyOf(state, typeof params.turns === 'number' ? params.turns : undefined);
      case 'metrics':
        return metricsOf(state, await deps.stateMetrics?.());
      case 'session_stats':
        return sessionStats(state, clock.now());
      case 'debug_context':
        return debugContext(state, clock.now());
    }
  };
}

const DEFAULT_TURNS = 5;
/** Characters of each message, and of what the model said in a turn. */
const MAX_TEXT = 4_000;
const MAX_MESSAGES = 20;

/** The last turns: what the model was told by people, and what it said. */
const historyOf = ({ turns }: SessionState, count = DEFAULT_TURNS): Json =>
  turns.slice(-count).map(({ turn, news, output }) => ({
    turn,
    told: news.messages.slice(-MAX_MESSAGES).map(({ from, text }) => ({ from, text: clip(text, MAX_TEXT) })),
    said: clip(output, MAX_TEXT),
  }));

const MAX_FIELDS = 100;
const MAX_VALUES = 100;

/** Time, tokens and cost of the session, and by each value that a field of its metadata had. */
function metricsOf(state: SessionState, fields: readonly FieldMetrics[] = []): Json {
  const { totals, startedAt, at, downMs } = state;
  const { input, output, cost_usd, turns } = totals;
  return {
    totals: { ms: Math.max(0, at - startedAt - downMs), turns, input, output, cost_usd },
    states: fields.slice(0, MAX_FIELDS).map(({ field, value, values }) => ({
      field,
      value,
      values: values.slice(0, MAX_VALUES).map((spent) => ({ ...spent })),
    })),
  };
}

/** A session in figures. */
function sessionStats(state: SessionState, now: number): Json {
  const { id, agent, model, turn, startedAt, totals, actions, feeds } = state;
  const byStatus: Partial<Record<ActionStatus, number>> = {};
  for (const { status } of actions.values()) byStatus[status] = (byStatus[status] ?? 0) + 1;
  return {
    session: id,
    agent,
    model,
    status: state.status,
    turn,
    elapsed_ms: Math.max(0, now - startedAt),
    tokens: { input: totals.input, output: totals.output },
    cost_usd: totals.cost_usd,
    actions: byStatus,
    feeds: feeds.size,
  };
}

/** What `randomInt` takes. */
const MAX_SPAN = 2 ** 48 - 1;

/** One of `choices`, a `uuid`, or a number from `min` to `max`: a whole one where both are, unless `integer` says. */
function randomValue(params: JsonObject): Json {
  const { min, max, integer, choices, uuid } = params;
  const ways = [choices, uuid, min ?? max ?? integer].filter((way) => way !== undefined);
  if (ways.length > 1)
    throw wrong('it asks for several things at once.', 'Give "choices", "uuid", or "min" and "max".');
  if (Array.isArray(choices)) return choices[randomInt(choices.length)] ?? null;
  if (uuid !== undefined) return randomUUID();
  const low = Number(min ?? 0);
  const high = Number(max ?? low + 1);
  if (low > high) throw wrong(`"/min" is ${low}, above "/max", which is ${high}.`, 'Swap them.');
  const areWhole = min !== undefined && max !== undefined && Number.isInteger(low) && Number.isInteger(high);
  if (!(integer ?? areWhole)) return low + Math.random() * (high - low);
  const [first, last] = [Math.ceil(low), Math.floor(high)];
  if (first > last) throw wrong(`there is no whole number from ${low} to ${high}.`, 'Widen the range.');
  if (last - first >= MAX_SPAN) throw wrong('the range is too wide.', 'Whole numbers: 2^48 of them at most.');
  return first + randomInt(last - first + 1);
}

const wrong = (message: string, hint: string) => badParams('the internal source "random"', message, hint);

/** Of each kind of thing, so many are shown: the newest. */
const MAX_LISTED = 50;
const MAX_FAULTS = 10;
const MAX_DEBUG_TEXT = 200;

/** How a session stands, for whoever looks for what is wrong with it. */
function debugContext(state: SessionState, now: number): Json {
  const { actions, open, variables, feeds, off, news, turns } = state;
  const faults = [...turns.slice(-MAX_FAULTS).flatMap((turn) => turn.news.faults), ...news.faults];
  return {
    turn: state.turn,
    open_actions: [...open].slice(-MAX_LISTED).map((id) => {
      const found = actions.get(id);
      if (found === undefined) return { id };
      const { action, status, attempts, turn } = found;
      return { id, type: action.kind, name: action.name, status, attempts, turn };
    }),
    variables: [...variables].slice(-MAX_LISTED).map(([name, variable]) => ({
      name,
      class: variable.class,
      by: variable.by,
      value: clip(JSON.stringify(variable.value), MAX_DEBUG_TEXT),
    })),
    faults: faults
      .slice(-MAX_FAULTS)
      .map(({ code, message }) => ({ code, message: clip(message, MAX_DEBUG_TEXT) })),
    feeds: [...feeds.values()].slice(-MAX_LISTED).map(({ id, last, failing, by }) => ({
      id,
      ...(by === undefined ? {} : { by }),
      ...(last === undefined
        ? {}
        : { tokens: last.tokens, age_ms: Math.max(0, now - last.loadedAt), turn: last.turn }),
      ...(failing === undefined
        ? {}
        : {
            failing: {
              code: failing.error.code,
              message: clip(failing.error.message, MAX_DEBUG_TEXT),
              times: failing.times,
            },
          }),
    })),
    off,
  };
}

/** Environment variables that the agent may see: those that are named, or all. One that is not set is null. */
export function environmentOf(
  { names }: JsonObject,
  permitted: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): JsonObject {
  const wanted = Array.isArray(names) ? names.map(String) : permitted;
  const hidden = wanted.find((name) => !permitted.includes(name));
  if (hidden !== undefined) throw notInView(hidden, permitted);
  return Object.fromEntries(wanted.map((name) => [name, env[name] ?? null]));
}

const notInView = (name: string, permitted: readonly string[]) =>
  new RuntimeError(
    'not_permitted',
    `The environment variable "${clip(name)}" is not in view of this agent.`,
    {
      hint: `${suggest(name, permitted, 'In view')} The agent's manifest says so in "permissions: { environment }".`,
    },
  );
