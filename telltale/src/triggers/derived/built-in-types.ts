import { compilePattern } from '../../expressions/linear-regex.ts';
import { type Condition, fieldsOf, matches } from '../../expressions/maps/conditions.ts';
import { parseConditions } from '../../expressions/maps/parse-conditions.ts';
import { isPlainObject } from '../../expressions/values.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { EventOf, EventType, SessionEvent } from '../../log/event.ts';
import { agentOfChild } from '../../log/fold-actions.ts';
import type { AnyTrigger, BuiltInType, GivenTrigger } from './compile-derived.ts';
import {
  type BoundTrigger,
  bindTrigger,
  type DerivedTriggerType,
  type FunctionCall,
  type Match,
  type Seen,
} from './compile-derived.ts';

/** Every type of the manifest's schema (manifest/schema/context-variables.ts): one that is there must be here. */
const BUILT_IN_TYPES: { readonly [Type in BuiltInType]: (given: GivenTrigger<Type>) => BoundTrigger } = {
  agent_text: (given) => bindTrigger('agent_text', agentText, given),
  agent_turn_count: (given) => bindTrigger('agent_turn_count', agentTurnCount, given),
  tool_response: (given) => bindTrigger('tool_response', toolResponse, given),
  metadata_match: (given) => bindTrigger('metadata_match', metadataMatch, given),
  event: (given) => bindTrigger('event', onEvent, given),
  timer_expired: (given) => bindTrigger('timer_expired', timerExpired, given),
  function: (given) => bindTrigger('function', onFunction, given),
};

/** The trigger, if its type is a built-in one. */
export function bindBuiltIn(trigger: AnyTrigger): BoundTrigger | undefined {
  const bind = Object.hasOwn(BUILT_IN_TYPES, trigger.type)
    ? (BUILT_IN_TYPES[trigger.type as BuiltInType] as (given: AnyTrigger) => BoundTrigger)
    : undefined;
  return bind?.(trigger);
}

type InTypesGiven = GivenTrigger<'timer_expired'>;

interface TimerExpired {
  readonly since: EventType;
  readonly afterMs: number;
}

/** Each event of its type begins the time anew. */
const timerExpired: DerivedTriggerType<InTypesGiven, TimerExpired> = {
  description: 'Time has passed.',
  parse: ({ since, after }) => ({ since: since as EventType, afterMs: after.ms }),
  on: ({ since }) => [since, 'timer.fired'],
  matches: (_, { event, place }) => event.type === 'timer.fired' && event.id === place,
  delayMs: ({ since, afterMs }, { event }) => (event.type === since ? afterMs : undefined),
};

type TurnCountGiven = GivenTrigger<'agent_turn_count'>;

/** Matches at the end of each turn from that number on. */
const agentTurnCount: DerivedTriggerType<TurnCountGiven, Pick<TurnCountGiven, 'agent' | 'at_least'>> = {
  description: 'An agent reached a number of turns.',
  parse: ({ agent, at_least }) => ({ agent, at_least }),
  on: ({ agent }) => (agent === undefined ? ['turn.completed'] : ['turn.completed', 'child.turn.completed']),
  matches({ agent = undefined, at_least }, { event, state }) {
    const counted = agent ?? state.agent;
    if (speaker(event, state) !== counted) return false;
    if (agent === undefined && event.type !== 'turn.completed') return false;
    const own = counted === state.agent ? state.totals.turns : 0;
    const below = state.childTurns.find((each) => each.agent === agent)?.turns ?? 0;
    return own + below >= at_least;
  },
};

type EventGiven = GivenTrigger<'event'>;

interface OnEvent {
  readonly type: EventType;
  readonly match: Condition | undefined;
}

const onEvent: DerivedTriggerType<EventGiven, OnEvent> = {
  description: 'An event appeared on the log.',
  parse: ({ event, match }) => ({
    // Types that nobody writes yet never come.
    type: event as EventType,
    match: match === undefined ? undefined : readConditions(match),
  }),
  on: ({ type }) => [type],
  matches: ({ type, match }, { event }) =>
    event.type === type && (match === undefined || matches(match, { current: { ...event } })),
};

type FunctionGiven = GivenTrigger<'function'>;

/** What changes something of what an artifact is shown. */
const ASKED_AT: readonly EventType[] = [
  'session.started',
  'session.resumed',
  'turn.completed',
  'metadata.changed',
  'variable.changed',
  'action.completed',
  'action.failed',
];

/** Pure, since the answer is on the log: what is asked outside comes back as an `invoke`, and only that counts. */
const onFunction: DerivedTriggerType<FunctionGiven, FunctionCall> = {
  description: 'An artifact decides.',
  parse: ({ artifact, method, fallback }) => ({ artifact, method, fallback: fallback as Json }),
  on: () => [...ASKED_AT, 'invoke'],
  matches: (_, { event, place }) => event.type === 'invoke' && event.where === place && matchOf(event.result),
  asks: (call, { event }) => (ASKED_AT.includes(event.type) ? call : undefined),
};

/** True is "set it"; false and null are "leave it"; anything else is the value itself. */
const matchOf = (result: Json): Match =>
  typeof result === 'boolean' ? result : result === null ? false : { value: result };

type MetadataGiven = GivenTrigger<'metadata_match'>;

interface MetadataMatch {
  readonly condition: Condition;
  /** Top-level fields that it names. */
  readonly fields: ReadonlySet<string>;
}

/**
 * Matches when an update that touches one of its fields leaves its conditions true; at the first update of a session all
 * are looked at, since defaults alone set nothing off. What was before that one are the defaults.
 */
const metadataMatch: DerivedTriggerType<MetadataGiven, MetadataMatch> = {
  description: 'The metadata matches.',
  parse({ conditions }) {
    const condition = readConditions(conditions);
    return { condition, fields: new Set(fieldsOf(condition).map(({ path }) => String(path[0]))) };
  },
  on: () => ['metadata.changed'],
  matches({ condition, fields }, { event, state }) {
    if (event.type !== 'metadata.changed') return false;
    const isFirst = state.metadataUpdates <= 1;
    if (!isFirst && !Object.keys(event.changes).some((name) => fields.has(name))) return false;
    return matches(condition, { current: state.metadata, previous: before(state.metadata, event) });
  },
};

/** The metadata as it was; on the log a field that is absent is null. */
function before(
  now: Readonly<Record<string, Json>>,
  { changes }: EventOf<'metadata.changed'>,
): Readonly<Record<string, Json>> {
  const fields = new Map(Object.entries(now));
  for (const [name, { from }] of Object.entries(changes))
    if (from === null) fields.delete(name);
    else fields.set(name, from);
  return Object.fromEntries(fields);
}

type ToolGiven = GivenTrigger<'tool_response'>;

interface ToolResponse extends Pick<ToolGiven, 'tool' | 'status'> {
  readonly match: Condition | undefined;
}

/** Of the session's own calls: a sub-agent's log says of its results which call they answer, and its parent's does not. */
const toolResponse: DerivedTriggerType<ToolGiven, ToolResponse> = {
  description: 'A tool answered.',
  parse: ({ tool, status, match }) => ({
    tool,
    status,
    match: match === undefined ? undefined : readConditions(match),
  }),
  on: ({ status }) => [ENDS[status]],
  matches({ tool, status, match }, { event, state }) {
    const result = resultOf(event);
    if (result === undefined || result.status !== status) return false;
    const action = state.actions.get(result.id)?.action;
    if (action?.kind !== 'tool' || action.name !== tool) return false;
    return match === undefined || matches(match, { current: fieldsIn(result.about) });
  },
};

const ENDS = {
  ok: 'action.completed',
  error: 'action.failed',
  timeout: 'action.failed',
  skipped: 'action.skipped',
  interrupted: 'action.interrupted',
} as const;

interface ToolResult {
  readonly id: string;
  readonly status: ToolGiven['status'];
  readonly about: unknown;
}

function resultOf(event: SessionEvent): ToolResult | undefined {
  switch (event.type) {
    case 'action.completed':
      return { id: event.id, status: 'ok', about: event.output };
    case 'action.failed':
      return {
        id: event.id,
        status: event.error.code === 'timeout' ? 'timeout' : 'error',
        about: event.error,
      };
    case 'action.skipped':
      return { id: event.id, status: 'skipped', about: { reason: event.reason, because: event.because } };
    case 'action.interrupted':
      return { id: event.id, status: 'interrupted', about: {} };
  }
  return undefined;
}

/** A result that is no map is the field `output` of one. */
const fieldsIn = (result: unknown): Readonly<Record<string, unknown>> =>
  isPlainObject(result) ? result : { output: result };

/** Conditions of a manifest that was checked. */
function readConditions(written: JsonObject): Condition {
  const read = parseConditions(written);
  if (!read.ok) throw unchecked(read.error.map(({ message }) => message));
  return read.value;
}

const unchecked = (problems: readonly string[]) =>
  new RuntimeError(
    'bad_conditions',
    `The conditions of a derived variable are wrong: ${problems.join(' ')}`,
    {
      hint: 'Check the manifest: telltale validate',
    },
  );

type TextGiven = GivenTrigger<'agent_text'>;

interface AgentText {
  readonly agent: string | undefined;
  readonly in: TextGiven['in'];
  fits(text: string): boolean;
}

/** Whole texts only: deltas are not on the log. What a sub-agent says is on its parent's, cut if it is long. */
const agentText: DerivedTriggerType<TextGiven, AgentText> = {
  description: 'An agent said something.',
  parse: ({ agent, in: where, match }) => ({ agent, in: where, fits: fitsOf(match) }),
  on: ({ in: where }): readonly EventType[] => [where, `child.${where}`],
  matches({ agent, in: where, fits }, { event, state }) {
    if (event.type !== where && event.type !== `child.${where}`) return false;
    if (agent !== undefined && agent !== speaker(event, state)) return false;
    return fits('event' in event ? textOf(event.event) : textOf(event));
  },
};

const textOf = (said: object): string => ('text' in said && typeof said.text === 'string' ? said.text : '');

/** The agent an event comes from. */
function speaker(event: Seen['event'], state: Seen['state']): string | undefined {
  return 'child' in event ? agentOfChild(state, event.action) : state.agent;
}

function fitsOf({ equals, contains, matches }: TextGiven['match']): AgentText['fits'] {
  if (equals !== undefined) return (text) => text === equals;
  if (contains !== undefined) return (text) => text.includes(contains);
  const pattern = compilePattern(matches ?? '');
  // One that cannot be read was refused with the manifest.
  return pattern.ok ? (text) => pattern.value.test(text) : () => false;
}
