import type { ObservedEvent } from '../../../events/event.ts';
import { RuntimeError, toRuntimeError } from '../../../kernel/runtime-error.ts';
import type { Session, SessionResult } from '../../../session/runtime-types.ts';
import { serverClosing } from '../../http/http-errors.ts';
import type { ExchangeEnd, ExchangeFold } from './exchange-end.ts';

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
    return last.turn === event.turn && last.final === event.final
      ? { ...event, text: last.text + event.text }
      : undefined;
  if (last.type === 'thought.delta' && event.type === 'thought.delta')
    return last.turn === event.turn && last.depth === event.depth
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
  new RuntimeError('session_released', `The server let go of ${session} before it had answered.`, {
    hint: `Continue it: telltale resume ${session}`,
    retryable: true,
  });
