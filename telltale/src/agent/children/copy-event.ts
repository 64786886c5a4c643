import type { ErrorJson } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { ChildEventBody, SessionEvent } from '../../log/event.ts';
import { speakerOf } from '../../log/fold-handoffs.ts';
import { usedOutside } from '../../log/fold-turns.ts';
import { LLM_USAGE } from '../../log/reduce.ts';
import type { Usage } from '../../log/session-events.ts';
import { cutText } from '../../prompt/text.ts';

/** Characters of a text, or of a value as JSON, that a copy holds; the whole is on the sub-agent's own log. */
export const MAX_COPIED = 16_384;

/** What the parent's log gets of an event of a sub-agent; nothing, of most. */
export function copyOf(event: SessionEvent, action: string): ChildEventBody | undefined {
  const of = { action, child: { session: event.session, seq: event.seq } };
  const used = (usage: Usage | undefined, cost_usd = 0): ChildEventBody | undefined =>
    usage === undefined ? undefined : { type: 'child.usage', ...of, usage, cost_usd };
  switch (event.type) {
    case 'thought':
      return { type: 'child.thought', ...of, event: { text: shortText(event.text), depth: event.depth } };
    case 'text':
      return { type: 'child.text', ...of, event: { text: shortText(event.text) } };
    case 'response':
      // Of an agent that speaks to the person, the copy is what the person reads.
      return {
        type: 'child.response',
        ...of,
        event: {
          text: speakerOf(action) === undefined ? shortText(event.text) : event.text,
          final: event.final,
        },
      };
    case 'turn.completed': {
      const { usage, cost_usd, ms, first_token_ms, finish } = event;
      return { type: 'child.turn.completed', ...of, event: { usage, cost_usd, ms, first_token_ms, finish } };
    }
    case 'turn.failed': {
      const { retry_in, kept, usage, cost_usd } = event;
      return {
        type: 'child.turn.failed',
        ...of,
        event: {
          error: shortError(event.error),
          ...(retry_in === undefined ? {} : { retry_in }),
          ...(kept === undefined ? {} : { kept }),
          ...(usage === undefined ? {} : { usage }),
          ...(cost_usd === undefined ? {} : { cost_usd }),
        },
      };
    }
    case 'action.completed': {
      const { id, ms, attempts } = event;
      const output = shortValue(event.output);
      return { type: 'child.action.completed', ...of, event: { id, output, ms, attempts } };
    }
    case 'action.failed': {
      const { id, ms, attempts } = event;
      const error = shortError(event.error);
      return { type: 'child.action.failed', ...of, event: { id, error, ms, attempts } };
    }
    case 'metadata.changed': {
      if (Object.keys(event.changes).length === 0) return undefined;
      const changes = Object.entries(event.changes).map(
        ([field, { from, to }]) => [field, { from: shortValue(from), to: shortValue(to) }] as const,
      );
      const { by } = event;
      return { type: 'child.metadata.changed', ...of, event: { changes: Object.fromEntries(changes), by } };
    }
    case 'variable.changed': {
      const { name, class: kind, by } = event;
      const [from, to] = [shortValue(event.from), shortValue(event.to)];
      return { type: 'child.variable.changed', ...of, event: { name, class: kind, from, to, by } };
    }
    case 'custom': {
      if (event.name !== LLM_USAGE) return undefined;
      const { usage, cost_usd } = usedOutside(event.data);
      return used(usage, cost_usd);
    }
    case 'prompt.compacted':
      return used(event.usage, event.cost_usd);
    case 'budget.charged':
      return { type: 'child.usage', ...of, charged: event.amount };
    // What its own sub-agents used, it used.
    case 'child.turn.completed':
    case 'child.turn.failed':
      return used(event.event.usage, event.event.cost_usd);
    case 'child.usage': {
      const { usage, cost_usd, charged } = event;
      return {
        type: 'child.usage',
        ...of,
        ...(usage === undefined ? {} : { usage }),
        ...(cost_usd === undefined ? {} : { cost_usd }),
        ...(charged === undefined ? {} : { charged }),
      };
    }
    default:
      return speakerOf(action) === undefined ? undefined : copyOfSpeaker(event, of);
  }
}

type CopyPlace = Pick<ChildEventBody, 'action' | 'child'>;

/** Of an agent that has the conversation, what clients show of its turns, actions and questions. */
function copyOfSpeaker(event: SessionEvent, of: CopyPlace): ChildEventBody | undefined {
  switch (event.type) {
    case 'turn.started':
      return { type: 'child.turn.started', ...of, event: bodyOf(event) };
    case 'action.declared': {
      const { action } = event;
      const parameters = shortFields(action.parameters);
      return { type: 'child.action.declared', ...of, event: { action: { ...action, parameters } } };
    }
    case 'action.started':
      return {
        type: 'child.action.started',
        ...of,
        event: { ...bodyOf(event), input: shortFields(event.input) },
      };
    case 'action.skipped':
      return { type: 'child.action.skipped', ...of, event: bodyOf(event) };
    case 'action.cancelled':
      return { type: 'child.action.cancelled', ...of, event: bodyOf(event) };
    case 'action.interrupted':
      return { type: 'child.action.interrupted', ...of, event: bodyOf(event) };
    case 'review.requested':
      return { type: 'child.review.requested', ...of, event: bodyOf(event) };
    case 'review.resolved':
      return { type: 'child.review.resolved', ...of, event: bodyOf(event) };
    case 'review.voided':
      return { type: 'child.review.voided', ...of, event: bodyOf(event) };
    case 'session.waiting':
      return event.for === 'message'
        ? undefined
        : { type: 'child.session.waiting', ...of, event: bodyOf(event) };
    default:
      return undefined;
  }
}

/** An event without its place on the log. */
function bodyOf<Event extends SessionEvent>({ type, seq, at, session, turn, cause, ...body }: Event) {
  return body;
}

const shortFields = (fields: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, shortValue(value)]));

function shortText(text: string): string {
  const { head, tail, omitted } = cutText(text, MAX_COPIED);
  return omitted === 0 ? text : `${head}\n… ${omitted} characters left out …\n${tail}`;
}

/** A value that is too long is text from there on: half an object would be another one. */
function shortValue(value: Json): Json {
  if (typeof value === 'string') return shortText(value);
  if (typeof value !== 'object' || value === null) return value;
  const json = JSON.stringify(value);
  return json.length <= MAX_COPIED ? value : shortText(json);
}

const shortError = (error: ErrorJson): ErrorJson =>
  error.message.length <= MAX_COPIED ? error : { ...error, message: shortText(error.message) };
