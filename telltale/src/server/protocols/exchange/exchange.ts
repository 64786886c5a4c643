import type { Session, SessionResult } from '../../../agent/runtime-types.ts';
import { type ErrorJson, RuntimeError, toRuntimeError } from '../../../lib/errors.ts';
import type { Json, JsonObject } from '../../../lib/json.ts';
import type { ObservedEvent } from '../../../log/event.ts';
import { speakerEventOf } from '../../../log/fold-handoffs.ts';
import type { ReviewRequest } from '../../../log/review-event.ts';
import { serverClosing } from '../../http/error-answer.ts';

export interface ExchangeFollower {
  event(event: ObservedEvent): void;
  /** Once, last. */
  end(end: ExchangeEnd): void;
}

/** One exchange of a session, wherever it is worked on, for whoever follows it. */
export interface Exchange {
  /** Unlike that of any other exchange, of any session. */
  readonly id: string;
  readonly session: Session<unknown>;
  /**
   * Tells all of it from its first event on, then what comes. The returned function ends that. Undefined where its
   * beginning is not kept any more.
   */
  follow(follower: ExchangeFollower): (() => void) | undefined;
  /** Resolves with its end. */
  readonly over: Promise<ExchangeEnd>;
  /** Forgets it, as if it had never begun. */
  drop(): void;
}

/** Events of an exchange that are kept for whoever joins later, pieces of one element together being one. */
const MAX_KEPT = 20_000;
/** Characters of what is said in them. */
const MAX_KEPT_CHARS = 4_194_304;

export interface ExchangeOptions {
  /** The last event of the session so far. */
  readonly since: number;
  readonly fold: ExchangeFold;
  /** Whether others than the first may follow it, from its beginning on. */
  readonly replays: boolean;
  /** Aborted when the server ends. */
  readonly closing: AbortSignal;
  /** The session as another process has it, behind an event, where one may go on with it that this one has let go of. */
  readonly elsewhere?: ((after: number) => Session<unknown>) | undefined;
}

/** Follows a session from now on. */
export function createExchange(
  begunWith: Session<unknown>,
  { since, fold, replays, closing, elsewhere }: ExchangeOptions,
): Exchange {
  let session = begunWith;
  let last = since;
  const followers = new Set<ExchangeFollower>();
  let kept: ObservedEvent[] | undefined = [];
  let keptChars = 0;
  let end: ExchangeEnd | undefined;
  let tellOver: (end: ExchangeEnd) => void = () => undefined;
  const over = new Promise<ExchangeEnd>((resolve) => {
    tellOver = resolve;
  });

  const keep = (event: ObservedEvent) => {
    if (kept === undefined) return;
    const last = kept.at(-1);
    const joined = last === undefined ? undefined : joinedPiece(last, event);
    if (joined === undefined) kept.push(event);
    else kept[kept.length - 1] = joined;
    if ('text' in event) keptChars += event.text.length;
    if (kept.length > MAX_KEPT || keptChars > MAX_KEPT_CHARS) kept = undefined;
  };
  const finish = (how: ExchangeEnd) => {
    if (end !== undefined) return;
    end = how;
    unsubscribe();
    closing.removeEventListener('abort', onClosing);
    for (const follower of [...followers]) follower.end(how);
    followers.clear();
    tellOver(how);
  };
  const onClosing = () => finish({ kind: 'failed', error: serverClosing().toJSON() });

  const take = (event: ObservedEvent) => {
    if (end !== undefined) return;
    if ('seq' in event) last = event.seq;
    if (event.type === 'model.output') return;
    const taken = fold.take(event);
    if (taken === undefined) return;
    keep(event);
    for (const follower of [...followers]) follower.event(event);
    if (taken.end !== undefined) finish(taken.end);
  };
  let unsubscribe: () => void = () => undefined;
  const attach = () => {
    unsubscribe = session.subscribe(take);
    session.result.then(
      (result) => {
        if (elsewhere === undefined || end !== undefined || !goesOnElsewhere(result))
          return finish(endOfResult(result));
        unsubscribe();
        session = elsewhere(last);
        attach();
      },
      (thrown: unknown) => finish({ kind: 'failed', error: toRuntimeError(thrown).toJSON() }),
    );
  };
  attach();
  closing.addEventListener('abort', onClosing, { once: true });
  if (closing.aborted) onClosing();

  return {
    id: `${session.id}.${since}`,
    get session() {
      return session;
    },
    over,
    follow(follower) {
      if (kept === undefined) return undefined;
      for (const event of kept) follower.event(event);
      if (!replays) kept = undefined;
      if (end !== undefined) {
        follower.end(end);
        return () => undefined;
      }
      followers.add(follower);
      return () => followers.delete(follower);
    },
    drop: () => finish({ kind: 'stopped', reason: 'It never began.' }),
  };
}

/** Two pieces of one element as one: what is kept does not grow with their number. */
function joinedPiece(last: ObservedEvent, event: ObservedEvent): ObservedEvent | undefined {
  if (last.type === 'response.delta' && event.type === 'response.delta')
    return last.turn === event.turn && last.final === event.final && last.speaker === event.speaker
      ? { ...event, text: last.text + event.text }
      : undefined;
  if (last.type === 'thought.delta' && event.type === 'thought.delta')
    return last.turn === event.turn && last.depth === event.depth && last.speaker === event.speaker
      ? { ...event, text: last.text + event.text }
      : undefined;
  return undefined;
}

/** It was let go of here, or another process has taken it. */
const goesOnElsewhere = ({ status, error }: SessionResult<unknown>): boolean =>
  status === 'interrupted' && (error === undefined || TAKEN.has(error.code));

const TAKEN: ReadonlySet<string> = new Set(['stream_lost', 'stream_moved']);

/** Where no event told of it: it was let go of, or its log could not be written. */
function endOfResult({ session, status, error }: SessionResult<unknown>): ExchangeEnd {
  if (error !== undefined) return { kind: 'failed', error };
  if (status === 'cancelled') return { kind: 'stopped', reason: 'The session was cancelled.' };
  return { kind: 'failed', error: letGo(session).toJSON() };
}

const letGo = (session: string) =>
  new RuntimeError('session_released', `The server released ${session} before it answered.`, {
    hint: `Continue it: telltale resume ${session}`,
    retryable: true,
  });

/** A review that nobody has answered, and the agent that asks, where that is not the session's own. */
export interface ExchangeReview extends ReviewRequest {
  readonly speaker?: string;
}

/** How an exchange ended: from a message of the user to the session's answer. */
export type ExchangeEnd =
  | { readonly kind: 'answered'; readonly text: string }
  /** It waits for people, and does nothing else. */
  | { readonly kind: 'paused'; readonly reviews: readonly ExchangeReview[] }
  /** Somebody broke it off, or cancelled the session. */
  | { readonly kind: 'stopped'; readonly reason: string }
  | { readonly kind: 'failed'; readonly error: ErrorJson };

/** What brings an exchange about: nothing before it belongs to it. */
export type Beginning =
  /** A new session: all that happens in it. */
  | { readonly kind: 'session' }
  | { readonly kind: 'message'; readonly text: string }
  | { readonly kind: 'answers'; readonly reviews: readonly string[] };

/** Says which events belong to an exchange, and which one ends it. Pure but for its own memory. */
export interface ExchangeFold {
  /** Undefined where the event is before the beginning. */
  take(event: ObservedEvent): { readonly end?: ExchangeEnd } | undefined;
}

const REVIEW = 'review ';

/** `open`: reviews that were asked for before. `pauses`: whether waiting for people ends it. */
export function createExchangeFold(
  beginning: Beginning,
  open: readonly ExchangeReview[],
  pauses: boolean,
): ExchangeFold {
  const reviews = new Map<string, ExchangeReview>(open.map((review) => [review.review, review]));
  let begun = beginning.kind === 'session';
  let answer: string | undefined;

  const begins = (event: ObservedEvent): boolean =>
    beginning.kind === 'message'
      ? event.type === 'message.received' && event.from === 'user' && event.text === beginning.text
      : beginning.kind === 'answers' &&
        event.type === 'review.resolved' &&
        beginning.reviews.includes(event.review);

  const endOf = (event: ObservedEvent): ExchangeEnd | undefined => {
    switch (event.type) {
      case 'session.waiting':
        if (event.for.startsWith(REVIEW))
          // What a sub-agent waits for is answered where its own session is.
          return pauses && reviews.size > 0 ? { kind: 'paused', reviews: [...reviews.values()] } : undefined;
        if (event.for !== 'message') return undefined;
        return answer === undefined
          ? { kind: 'stopped', reason: 'It was broken off.' }
          : { kind: 'answered', text: answer };
      case 'session.completed':
        return { kind: 'answered', text: answer ?? textOf(event.result) };
      case 'session.failed':
      case 'session.stalled':
        return { kind: 'failed', error: event.error };
      case 'session.cancelled':
        return { kind: 'stopped', reason: event.reason };
      default:
        return undefined;
    }
  };

  return {
    take(given) {
      const { speaker, event } = speakerEventOf(given) ?? { event: given };
      if (event.type === 'review.requested')
        reviews.set(event.review, speaker === undefined ? event : { ...event, speaker });
      if (event.type === 'review.resolved') reviews.delete(event.review);
      begun ||= begins(event);
      if (!begun) return undefined;
      if (event.type === 'response' && event.final) answer = event.text;
      const end = endOf(event);
      return end === undefined ? {} : { end };
    },
  };
}

const textOf = (result: Json): string => (typeof result === 'string' ? result : JSON.stringify(result));

/** What happened beside speech, actions and metadata that people want to see. */
const NEWS: ReadonlySet<ObservedEvent['type']> = new Set([
  'fault',
  'turn.failed',
  'metadata.rejected',
  'variable.changed',
  'action.retrying',
  'action.progress',
  'review.requested',
  'review.resolved',
  'review.voided',
  'trigger.fired',
  'trigger.suppressed',
  'workflow.completed',
  'workflow.failed',
  'workflow.cancelled',
  'feed.failed',
  'budget.charged',
  'artifact.written',
  'handoff',
  'custom',
]);

/** The event as the log has it, where it is such news. */
export function newsOf(
  event: ObservedEvent,
): { readonly type: string; readonly data: JsonObject } | undefined {
  const of = speakerEventOf(event);
  const own = of?.event ?? event;
  if (!NEWS.has(own.type)) return undefined;
  const { type, session: _, ...data } = own;
  const agent = of === undefined ? {} : { agent: of.speaker };
  return { type, data: { ...(data as unknown as JsonObject), ...agent } }; // what is on the log is JSON by its own definition
}

/** What an exchange used, its sub-agents included. */
export interface ExchangeUsage {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly cost_usd: number;
  readonly turns: number;
}

export const NO_USAGE: ExchangeUsage = { input: 0, output: 0, cached: 0, cost_usd: 0, turns: 0 };

export function addUsage(before: ExchangeUsage, event: ObservedEvent): ExchangeUsage {
  const used = usedBy(event);
  if (used === undefined) return before;
  return {
    input: before.input + (used.usage?.input ?? 0),
    output: before.output + (used.usage?.output ?? 0),
    cached: before.cached + (used.usage?.cached ?? 0),
    cost_usd: before.cost_usd + (used.cost_usd ?? 0),
    turns: before.turns + (event.type === 'turn.completed' ? 1 : 0),
  };
}

function usedBy(event: ObservedEvent) {
  switch (event.type) {
    case 'turn.completed':
    case 'turn.failed':
    case 'prompt.compacted':
    case 'child.usage':
      return event;
    case 'child.turn.completed':
    case 'child.turn.failed':
      return event.event;
    default:
      return undefined;
  }
}
