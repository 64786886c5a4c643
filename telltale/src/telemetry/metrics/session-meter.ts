import { isShown } from '../../log/action.ts';
import type { EventOf, SessionEvent } from '../../log/event.ts';
import { usedOutside } from '../../log/fold-turns.ts';
import { LLM_USAGE } from '../../log/reduce.ts';
import type { Usage } from '../../log/session-events.ts';
import type { SessionStatus } from '../../log/state.ts';
import { type ModelName, modelName, OPERATION } from '../conventions.ts';
import { createOpenStreams, type OpenStream, type OpenStreams } from '../open-streams.ts';
import type { Counter, Histogram, Instruments, Series } from './instruments.ts';
import { createStateSpend, type StateSpend } from './state-spend.ts';

export interface SessionMeter {
  add(event: SessionEvent): void;
  /** Takes up a session in the middle of its life, with what its first event says. */
  recall(first: EventOf<'session.started'>): void;
  knows(session: string): boolean;
  readonly reviews: MeteredReviews;
}

export function createSessionMeter(meters: Instruments): SessionMeter {
  const sessions = createMeteredStreams<MeteredSession>({
    open: meters.reviewsOpen.of('session'),
    ended: meters.sessionsEnded,
    duration: meters.sessionDuration,
  });

  const begin = (event: SessionEvent, first: EventOf<'session.started'> | undefined, isNew: boolean) =>
    sessions.open(event.session, {
      size: 1,
      at: event.at,
      turnAt: undefined,
      early: [],
      status: 'running',
      idle: false,
      actions: new Map(),
      reviews: new Set(),
      startedAt: first?.at,
      agent: first?.agent ?? NOT_TOLD,
      model: modelName(first?.model ?? NOT_TOLD),
      spend: createStateSpend(
        meters,
        first?.agent ?? NOT_TOLD,
        first?.states ?? [],
        isNew ? (first?.metadata ?? {}) : undefined,
      ),
    });

  const fold = (own: MeteredSession, event: SessionEvent): void => {
    switch (event.type) {
      case 'session.completed':
      case 'session.failed':
      case 'session.stalled':
      case 'session.cancelled':
        sessions.end(event.session, own, { of: own.agent, at: event.at, status: endOf(event.type) });
        break;
      case 'session.resumed':
        own.status = 'running';
        break;
      case 'session.waiting':
        own.status = 'waiting';
        own.idle ||= event.for === 'message';
        break;
      case 'message.received':
        own.status = 'running';
        own.idle = false;
        break;
      case 'turn.started':
        own.status = 'running';
        own.turnAt = event.at;
        own.early = [];
        own.spend.turnBegan();
        break;
      case 'turn.completed':
      case 'turn.failed':
        endTurn(meters, own, event);
        break;
      case 'prompt.compacted':
        use(meters, own, event.usage ?? NO_USAGE, event.cost_usd ?? 0);
        break;
      case 'custom': {
        if (event.name !== LLM_USAGE) return;
        const { usage, cost_usd } = usedOutside(event.data);
        use(meters, own, usage, cost_usd);
        break;
      }
      case 'child.turn.completed':
      case 'child.turn.failed': {
        // Its cost was counted where it arose.
        const { usage, cost_usd = 0 } = event.event;
        if (usage !== undefined) own.spend.used(usage.input, usage.output, cost_usd);
        break;
      }
      case 'child.usage':
        own.spend.used(event.usage?.input ?? 0, event.usage?.output ?? 0, event.cost_usd ?? 0);
        break;
      case 'metadata.changed':
        own.spend.changed(event.changes);
        break;
      case 'action.declared': {
        const { id, kind, name } = event.action;
        if (!isShown(event.action) || own.actions.has(id)) return;
        own.actions.set(id, { kind, name });
        sessions.grow(own, 1);
        break;
      }
      case 'action.started': {
        const action = own.actions.get(event.id);
        if (action === undefined || action.startedAt !== undefined) return;
        action.startedAt = event.at;
        if (own.turnAt !== undefined) own.early.push(event.at);
        break;
      }
      case 'action.completed':
      case 'action.failed':
      case 'action.skipped':
      case 'action.cancelled':
      case 'action.interrupted':
        if (endAction(meters, own, event)) sessions.grow(own, -1);
        break;
      case 'review.requested':
        sessions.asked(own, event.review);
        break;
      case 'review.resolved':
        if (own.status === 'waiting') own.status = 'running';
        sessions.answered(own, event.review);
        break;
      case 'trigger.fired':
        meters.triggersFired.of(own.agent, event.workflow).value++;
        break;
      case 'trigger.suppressed':
        meters.triggersSuppressed.of(own.agent, event.workflow, event.reason).value++;
        break;
      case 'fault':
        meters.faults.of(own.agent, event.code).value++;
        break;
      case 'invoke':
        meters.invokes.of(event.artifact, event.fallback?.reason ?? 'decided').value++;
        break;
      default:
        break;
    }
  };

  return {
    reviews: sessions.reviews,
    knows: (session) => sessions.get(session) !== undefined,
    recall: (first) => void begin(first, first, false),
    add(event) {
      if (event.type === 'session.started') {
        meters.sessionsStarted.of(event.agent).value++;
        begin(event, event, true);
        return;
      }
      let own = sessions.get(event.session);
      if (own === undefined) {
        // What follows an end, such as that of a run, opens nothing.
        if (event.type !== 'session.resumed' && event.type !== 'turn.started') return;
        own = begin(event, undefined, false);
      }
      const ms = event.at - own.at;
      own.at = event.at;
      const isAway =
        event.type === 'session.resumed' || (event.type === 'review.resolved' && event.away === true);
      if (ms > 0 && !isAway && own.status !== 'waiting' && !own.idle) own.spend.worked(ms);
      fold(own, event);
    },
  };
}

interface MeteredAction {
  readonly kind: string;
  readonly name: string;
  startedAt?: number;
}

/** What is kept of a session until it ends. */
export interface MeteredSession extends MeteredStream {
  readonly agent: string;
  readonly model: ModelName;
  readonly spend: StateSpend;
  status: SessionStatus;
  /** Whether it is a chat that waits for its next message. */
  idle: boolean;
  /** The time of its last event. */
  at: number;
  turnAt: number | undefined;
  /** When actions started while the model was speaking. */
  early: number[];
  readonly actions: Map<string, MeteredAction>;
}

/** In labels, what nobody here knows. */
export const NOT_TOLD = 'unknown';

const NO_USAGE: Usage = { input: 0, output: 0 };

function use(meters: Instruments, own: MeteredSession, { input, output }: Usage, cost: number): void {
  own.spend.used(input, output, cost);
  if (cost !== 0) meters.cost.of(own.agent, '').value += cost;
}

function endTurn(
  meters: Instruments,
  own: MeteredSession,
  event: EventOf<'turn.completed'> | EventOf<'turn.failed'>,
): void {
  const { provider, model } = own.model;
  const isWell = event.type === 'turn.completed';
  const { usage = NO_USAGE, cost_usd = 0 } = event;
  meters.turns.of(own.agent, isWell ? 'completed' : 'failed').value++;
  const ms = isWell ? event.ms : event.at - (own.turnAt ?? event.at);
  const error = isWell ? '' : event.error.code;
  meters.callDuration.record(seconds(ms), OPERATION.chat, provider, model, error);
  if (isWell) {
    meters.firstToken.record(seconds(event.first_token_ms), OPERATION.chat, provider, model);
    for (const at of own.early) meters.actionLead.record(seconds(event.at - at), own.agent);
  }
  if (event.usage !== undefined) {
    meters.tokens.record(usage.input, OPERATION.chat, provider, model, 'input');
    meters.tokens.record(usage.output, OPERATION.chat, provider, model, 'output');
  }
  use(meters, own, usage, cost_usd);
  if (isWell) own.spend.turnEnded();
  own.turnAt = undefined;
  own.early = [];
}

type EndedAction = EventOf<
  'action.completed' | 'action.failed' | 'action.skipped' | 'action.cancelled' | 'action.interrupted'
>;

/** Whether it was open. */
function endAction(meters: Instruments, own: MeteredSession, event: EndedAction): boolean {
  const { id, at } = event;
  const action = own.actions.get(id);
  if (action === undefined) return false;
  own.actions.delete(id);
  // What is not there is called whatever the model likes to call it.
  const isUnknown = event.type === 'action.failed' && event.error.code === 'target_unknown';
  const target = isUnknown ? NOT_TOLD : action.name;
  meters.actions.of(own.agent, action.kind, target, endOf(event.type)).value++;
  if (action.startedAt !== undefined)
    meters.actionDuration.record(seconds(at - action.startedAt), action.kind, target);
  return true;
}

export interface MeteredStream extends OpenStream {
  readonly startedAt: number | undefined;
  /** Those that nobody has answered. */
  readonly reviews: Set<string>;
}

/** Sessions or runs that have not ended. How many reviews are open in them is `open`, whatever becomes of them. */
export interface MeteredStreams<Entry extends MeteredStream> extends Omit<OpenStreams<Entry>, 'close'> {
  asked(entry: Entry, review: string): void;
  answered(entry: Entry, review: string): void;
  readonly reviews: MeteredReviews;
  /** Closes it. `of` is its agent or workflow. */
  end(
    stream: string,
    entry: Entry,
    ended: { readonly of: string; readonly at: number; readonly status: string },
  ): void;
}

/** Questions that were asked here and that nobody has answered as far as this process has heard. */
export interface MeteredReviews {
  asked(): readonly string[];
  /** Of some it turned out that others have answered them. */
  answeredElsewhere(reviews: readonly string[]): void;
}

/** What is counted of streams of one kind. */
export interface StreamInstruments {
  readonly open: Series;
  readonly ended: Counter;
  readonly duration: Histogram;
}

/** Streams with what is open in them, of which something is kept. */
const MAX_OPEN = 100_000;

export function createMeteredStreams<Entry extends MeteredStream>({
  open,
  ended,
  duration,
}: StreamInstruments): MeteredStreams<Entry> {
  const askers = new Map<string, Entry>();
  const leave = ({ reviews }: Entry) => {
    open.value -= reviews.size;
    for (const review of reviews) askers.delete(review);
  };
  const answered = ({ reviews }: Entry, review: string) => {
    if (!reviews.delete(review)) return;
    askers.delete(review);
    open.value--;
  };
  const streams = createOpenStreams<Entry>(MAX_OPEN, leave);
  return {
    ...streams,
    end(stream, entry, { of, at, status }) {
      ended.of(of, status).value++;
      if (entry.startedAt !== undefined) duration.record(seconds(at - entry.startedAt), of, status);
      leave(entry);
      streams.close(stream);
    },
    asked(entry, review) {
      if (entry.reviews.has(review)) return;
      entry.reviews.add(review);
      askers.set(review, entry);
      open.value++;
    },
    answered,
    reviews: {
      asked: () => [...askers.keys()],
      answeredElsewhere(those) {
        for (const review of those) {
          const entry = askers.get(review);
          if (entry !== undefined) answered(entry, review);
        }
      },
    },
  };
}

/** How it ended, from the type of the event that says so: `completed` of `session.completed`. */
export const endOf = <End extends string>(type: `${string}.${End}`): End =>
  type.slice(type.lastIndexOf('.') + 1) as End;

const seconds = (ms: number): number => Math.max(0, ms) / 1_000;
