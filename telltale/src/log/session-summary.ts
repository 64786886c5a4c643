import type { ErrorJson } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { EventType, SessionEvent } from './event.ts';
import { usedOutside } from './fold-turns.ts';
import { LLM_USAGE } from './reduce.ts';
import type { Usage } from './session-events.ts';
import type { SessionStatus } from './state.ts';

/** One value of an enum field of metadata, from `at` until the next one. */
export interface StateSpan {
  readonly value: Json;
  readonly at: number;
  readonly seq: number;
}

/** Why nothing picks a session or run up by itself. The store and the fleet know that, its events do not. */
export interface QuarantineNote {
  readonly why: string;
  readonly at: number;
  /** What has it tried again: to resume it, or, where a fleet could not go on with it, `POST /fleet/:id/retry`. */
  readonly release: 'resume' | 'retry';
  /** What is wrong, where a fleet has quarantined it: `manifest_changed`. */
  readonly code?: string;
}

/** What a list says of a session: a fold of its events, small whatever the session did. */
export interface SessionSummary {
  readonly id: string;
  readonly agent: string;
  /** The beginning of its input. */
  readonly title: string;
  readonly model: string;
  readonly status: SessionStatus | 'quarantined';
  /** While it is quarantined. */
  readonly quarantine?: QuarantineNote;
  readonly chat?: true;
  /** The session that called it. */
  readonly parent?: string;
  readonly forked?: { readonly session: string; readonly seq: number };
  readonly startedAt: number;
  readonly updatedAt: number;
  /** The last event that is in it. */
  readonly seq: number;
  readonly turn: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** true where a part of these was counted here, since a provider gave no figures. */
  readonly estimated?: true;
  readonly cost_usd: number;
  readonly actions: { readonly declared: number; readonly completed: number; readonly failed: number };
  /** What waits for a person: ids of open reviews. */
  readonly reviews: readonly string[];
  /** Workflow runs that it set off and that have not ended. */
  readonly runs: readonly string[];
  readonly metadata: JsonObject;
  /** The states it declared over time, by enum field; the newest MAX_SPANS of each. */
  readonly bands: Readonly<Record<string, readonly StateSpan[]>>;
  /** The beginning of its result. */
  readonly result?: string;
  readonly error?: ErrorJson;
}

/** The events that a summary says something of, apart from when it was last changed. */
const SUMMED = [
  'session.started',
  'session.resumed',
  'session.waiting',
  'session.completed',
  'session.failed',
  'session.stalled',
  'session.cancelled',
  'turn.started',
  'message.received',
  'handoff',
  'turn.completed',
  'turn.failed',
  'child.turn.completed',
  'child.turn.failed',
  'child.usage',
  'custom',
  'prompt.compacted',
  'action.declared',
  'action.completed',
  'action.failed',
  'action.interrupted',
  'metadata.changed',
  'review.requested',
  'review.resolved',
  'trigger.fired',
  'workflow.completed',
  'workflow.failed',
  'workflow.cancelled',
] as const satisfies readonly EventType[];

/** Their types: what lists have to hear of. */
export const SUMMARY_TYPES: ReadonlySet<string> = new Set(SUMMED);

type SessionSummarySummedEvent = Extract<SessionEvent, { readonly type: (typeof SUMMED)[number] }>;

const isSummed = (event: SessionEvent): event is SessionSummarySummedEvent => SUMMARY_TYPES.has(event.type);

/** Spans of a band that are kept. */
export const MAX_SPANS = 100;
const MAX_TITLE = 200;
const MAX_RESULT = 500;

export const emptySummary = (id: string): SessionSummary => ({
  id,
  agent: '',
  title: '',
  model: '',
  status: 'running',
  startedAt: 0,
  updatedAt: 0,
  seq: 0,
  turn: 0,
  input_tokens: 0,
  output_tokens: 0,
  cost_usd: 0,
  reviews: [],
  runs: [],
  metadata: {},
  bands: {},
  actions: { declared: 0, completed: 0, failed: 0 },
});

/** The summary after one more event; the same for whoever folds it, in whatever pieces. Never changes what it is given. */
export function foldSummary(before: SessionSummary, event: SessionEvent): SessionSummary {
  const { seq, at } = event;
  // What is over goes; all else only adds.
  if (event.type === 'session.resumed') return { ...goOn(before, event.chat === true), seq, updatedAt: at };
  const changes = isSummed(event) ? changesOf(before, event) : {};
  const after: SessionSummaryGrowing = { ...before, ...changes, seq, updatedAt: at };
  if (after.status !== 'quarantined') delete after.quarantine;
  return after;
}

/** In the making: what is over goes. */
type SessionSummaryGrowing = { -readonly [Key in keyof SessionSummary]: SessionSummary[Key] };

/** An end that it had come to is none. What a session completed with is an answer only, once it goes on as a chat. */
function goOn(before: SessionSummary, chat: boolean): SessionSummary {
  const { error: _, quarantine: _why, ...kept } = before;
  if (!chat) return { ...kept, status: 'running' };
  const { result: __, ...open } = kept;
  return { ...(before.status === 'completed' ? open : kept), status: 'running', chat: true };
}

function changesOf(
  before: SessionSummary,
  event: Exclude<SessionSummarySummedEvent, { readonly type: 'session.resumed' }>,
): Partial<SessionSummary> {
  switch (event.type) {
    case 'session.started': {
      const { agent, input, model, chat, parent, forked, metadata = {}, states = [] } = event;
      const first = (field: string) => [{ value: metadata[field] ?? null, at: event.at, seq: event.seq }];
      return {
        agent,
        model,
        metadata,
        startedAt: event.at,
        title: beginning(input, MAX_TITLE),
        ...(chat === undefined ? {} : { chat }),
        ...(parent === undefined ? {} : { parent: parent.session }),
        ...(forked === undefined ? {} : { forked }),
        bands: Object.fromEntries(states.map((field) => [field, first(field)])),
      };
    }
    case 'session.waiting':
      return { status: 'waiting' };
    case 'session.completed': {
      const { result } = event;
      const text = typeof result === 'string' ? result : JSON.stringify(result);
      return { status: 'completed', result: beginning(text, MAX_RESULT) };
    }
    case 'session.failed':
      return { status: 'failed', error: event.error };
    case 'session.stalled':
      return { status: 'stalled', error: event.error };
    case 'session.cancelled':
      return { status: 'cancelled' };
    case 'handoff':
      // The next agent may have its own log: then no `turn.started` follows here.
      return { status: 'running' };
    case 'turn.started':
      return { status: 'running', turn: event.turn };
    case 'message.received':
      return before.status === 'waiting' ? { status: 'running' } : {};
    case 'turn.completed':
      return spent(before, event.usage, event.cost_usd);
    case 'turn.failed':
    case 'prompt.compacted':
      return event.usage === undefined ? {} : spent(before, event.usage, event.cost_usd);
    case 'child.turn.completed':
    case 'child.turn.failed':
      return event.event.usage === undefined ? {} : spent(before, event.event.usage, event.event.cost_usd);
    case 'child.usage':
      return spent(before, event.usage, event.cost_usd);
    case 'custom': {
      if (event.name !== LLM_USAGE) return {};
      const { usage, cost_usd } = usedOutside(event.data);
      return spent(before, usage, cost_usd);
    }
    case 'action.declared':
      return { actions: { ...before.actions, declared: before.actions.declared + 1 } };
    case 'action.completed':
      return { actions: { ...before.actions, completed: before.actions.completed + 1 } };
    case 'action.failed':
    case 'action.interrupted':
      return { actions: { ...before.actions, failed: before.actions.failed + 1 } };
    case 'metadata.changed': {
      const metadata = { ...before.metadata };
      const bands = { ...before.bands };
      for (const [field, { to }] of Object.entries(event.changes)) {
        // A field that is not set and has no default is absent; on the log that is null.
        if (to === null) delete metadata[field];
        else metadata[field] = to;
        const band = bands[field];
        if (band === undefined) continue;
        bands[field] = [...band, { value: to, at: event.at, seq: event.seq }].slice(-MAX_SPANS);
      }
      return { metadata, bands };
    }
    case 'review.requested':
      return { reviews: [...before.reviews, event.review] };
    case 'review.resolved':
      return {
        reviews: before.reviews.filter((review) => review !== event.review),
        ...(before.status === 'waiting' ? { status: 'running' } : {}),
      };
    case 'trigger.fired':
      return { runs: [...before.runs, event.run] };
    case 'workflow.completed':
    case 'workflow.failed':
    case 'workflow.cancelled':
      return { runs: before.runs.filter((run) => run !== event.run) };
  }
}

const spent = (before: SessionSummary, usage: Usage | undefined, cost = 0) => ({
  input_tokens: before.input_tokens + (usage?.input ?? 0),
  output_tokens: before.output_tokens + (usage?.output ?? 0),
  cost_usd: before.cost_usd + cost,
  ...(usage?.estimated === true ? { estimated: usage.estimated } : {}),
});

/** No character is cut in two. */
const beginning = (text: string, most: number): string => text.slice(0, most).replace(/[\uD800-\uDBFF]$/, '');
