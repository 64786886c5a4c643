import type { EventOf, SessionEvent } from '../events/event.ts';
import type { SessionState } from '../events/state.ts';
import type { PromptFrame } from '../events/turn-event.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';
import { createConversation } from '../prompt/conversation.ts';
import type { Opening } from '../prompt/opening.ts';
import type { PromptMessage } from '../prompt/prompt.ts';
import type { Store } from '../store/store.ts';
import type { Face } from './make-face.ts';
import { readEvents, readSession, sessionEmpty } from './read-session.ts';

/** A turn on the log of its session. */
export interface FoundTurn {
  /** The session as it was when the turn had just begun. */
  readonly state: SessionState;
  /** Of a request that was made again, the last one. */
  readonly started: EventOf<'turn.started'>;
  /** How that request ended; undefined while it runs. */
  readonly ended: EventOf<'turn.completed'> | EventOf<'turn.failed'> | undefined;
  /** What stood before and beside its messages; undefined on logs of earlier versions. */
  readonly frame: PromptFrame | undefined;
  /** The session when the turn before had just begun; undefined for the first. */
  readonly before: SessionState | undefined;
  /** The number of the session's newest turn. */
  readonly last: number;
}

/** What a turn was asked with, made from the log as the session's loop makes it. */
export interface RebuiltPrompt {
  readonly opening: Opening;
  readonly messages: readonly PromptMessage[];
  /** For each message the turn whose request had it first, as far back as the messages go. */
  readonly turns: readonly number[];
  /** How many of the messages stood in the request of the turn before, too. */
  readonly known: number;
  readonly hash: string;
}

/** Finds a turn; the newest one where no number is given. Rejects with `turn_unknown` where there is none. */
export async function findTurn(
  store: Store,
  session: string,
  turn?: number,
  signal?: AbortSignal,
): Promise<FoundTurn> {
  const events = await readEvents(store, session, 1, signal);
  if (events.length === 0) throw sessionEmpty(session);
  const starts = events.filter((event) => event.type === 'turn.started');
  const last = starts.at(-1)?.turn ?? 0;
  const started = starts.findLast((event) => event.turn === (turn ?? last));
  if (started === undefined) throw turnUnknown(session, turn ?? 1, last);
  const earlier = starts.findLast((event) => event.turn < started.turn);
  return {
    state: await readSession(store, session, started.seq, signal),
    started,
    ended: events.find((event): event is EndOfTurn => isEndOf(event, started)),
    frame: starts.findLast(({ seq, prompt }) => seq <= started.seq && prompt.frame !== undefined)?.prompt
      .frame,
    before: earlier && (await readSession(store, session, earlier.seq, signal)),
    last,
  };
}

type EndOfTurn = NonNullable<FoundTurn['ended']>;

const isEndOf = ({ type, seq, turn }: SessionEvent, started: FoundTurn['started']): boolean =>
  seq > started.seq && turn === started.turn && (type === 'turn.completed' || type === 'turn.failed');

/** Makes the prompt of a turn anew, with an agent as it is now. */
export function rebuildPrompt(
  { state, before }: Pick<FoundTurn, 'state' | 'before'>,
  face: Face,
): RebuiltPrompt {
  const opening = face.opening(state);
  const turns: number[] = [];
  const prompt = createConversation(opening).rebuild(state, (turn, { count }) => {
    while (turns.length < count) turns.push(turn);
  });
  const messages = prompt?.messages.slice(0, prompt.count) ?? [];
  const earlier = before && createConversation(opening).rebuild(before);
  const old = earlier?.messages.slice(0, earlier.count) ?? [];
  const changed = old.findIndex((message, index) => !isSame(message, messages[index]));
  return {
    opening,
    messages,
    turns,
    hash: prompt?.hash ?? opening.frame.hash,
    known: changed === -1 ? old.length : changed,
  };
}

const isSame = (one: PromptMessage, other: PromptMessage | undefined): boolean =>
  one.role === other?.role && one.text === other.text;

const turnUnknown = (session: string, turn: number, last: number) =>
  new RuntimeError(
    'turn_unknown',
    last === 0 ? `${session} has not asked its model yet.` : `${session} has no turn ${turn}.`,
    { hint: last === 0 ? 'Look again once its first turn has begun.' : `Its last turn is ${last}.` },
  );
