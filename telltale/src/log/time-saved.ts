import { spanText } from '../lib/quantity.ts';
import type { DeclaredAction } from './action.ts';
import type { SessionEvent } from './event.ts';

/**
 * How much longer a session would have taken if each action had started only when the model's response had ended, in
 * milliseconds. In that comparison an action still starts behind a sync action before it and behind what it really
 * waited for, and takes as long as it took. Actions that nobody waited for do not count, and neither do turns that broke
 * off: nobody knows when those would have ended.
 */
export interface TimeSaved {
  /** 0 where nothing was saved: less than `WORTH_MS` is noise of the machine. */
  readonly savedMs: number;
  /** Actions that started before the response that asked for them had ended. */
  readonly early: number;
}

/** Works out the time saved from a session's log. */
export interface TimeSavedFold {
  add(event: SessionEvent): void;
  /** The time saved up to an event; without one, up to the last. */
  at(seq?: number): TimeSaved;
}

const WORTH_MS = 50;
/** An action that starts within this time of its declaration has waited for no other. */
const AT_ONCE_MS = 5;

/** The sentence that people read about it; undefined where nothing was saved. */
export function timeSavedText({ savedMs, early }: TimeSaved): string | undefined {
  if (savedMs === 0) return undefined;
  const started = `${early.toLocaleString('en')} ${early === 1 ? 'action' : 'actions'}`;
  return `Starting ${started} before the response ended saved ${spanText(savedMs)}.`;
}

interface TimeSavedMark {
  readonly seq: number;
  readonly at: number;
}

interface TurnAction extends Pick<DeclaredAction, 'id' | 'mode' | 'depends_on'> {
  readonly declared: TimeSavedMark;
  started?: TimeSavedMark;
  ended?: TimeSavedMark;
}

interface TimeSavedTurn {
  readonly began: TimeSavedMark;
  /** When the model's stream had ended. */
  ended?: TimeSavedMark;
  readonly actions: TurnAction[];
  /** What it comes to, once the next turn has begun: nobody waited for what ended later. */
  settled?: Compared & { readonly seq: number };
}

interface Compared {
  readonly early: number;
  readonly savedMs: number;
}

export function createTimeSaved(): TimeSavedFold {
  const turns: TimeSavedTurn[] = [];
  const actions = new Map<string, TurnAction>();
  let isOpen = false;

  const settle = (seq: number) => {
    const turn = turns.at(-1);
    if (turn !== undefined && isOpen) turn.settled = { ...compare(turn, seq), seq };
    isOpen = false;
  };
  /** Of a stream that was cut off nobody knows when it would have ended. */
  const breakOff = () => {
    const turn = turns.at(-1);
    if (isOpen && turn?.ended === undefined) {
      turns.pop();
      isOpen = false;
    }
  };

  return {
    add(event) {
      const mark = { seq: event.seq, at: event.at };
      switch (event.type) {
        case 'session.resumed':
        case 'turn.failed':
          breakOff();
          break;
        case 'turn.started':
          settle(event.seq);
          turns.push({ began: mark, actions: [] });
          isOpen = true;
          break;
        case 'turn.completed': {
          const turn = turns.at(-1);
          if (isOpen && turn !== undefined)
            turn.ended = { seq: event.seq, at: Math.min(event.at, turn.began.at + event.ms) };
          break;
        }
        case 'action.declared': {
          const { id, mode, depends_on } = event.action;
          const action = { id, mode, declared: mark, ...(depends_on === undefined ? {} : { depends_on }) };
          actions.set(id, action);
          if (isOpen) turns.at(-1)?.actions.push(action);
          break;
        }
        case 'action.started': {
          const action = actions.get(event.id);
          if (action !== undefined) action.started ??= mark;
          break;
        }
        case 'action.completed':
        case 'action.failed':
        case 'action.cancelled':
        case 'action.interrupted': {
          const action = actions.get(event.id);
          if (action?.started !== undefined) action.ended ??= mark;
          break;
        }
      }
    },
    at(seq = Number.POSITIVE_INFINITY) {
      let early = 0;
      let savedMs = 0;
      for (const turn of turns) {
        if (turn.began.seq > seq) break;
        const { settled } = turn;
        const compared = settled !== undefined && settled.seq <= seq ? settled : compare(turn, seq);
        early += compared.early;
        savedMs += compared.savedMs;
      }
      return { early, savedMs: savedMs < WORTH_MS ? 0 : savedMs };
    },
  };
}

type StartedAction = TurnAction & { readonly started: TimeSavedMark };

/** One turn as it was, up to an event, and as it would have been with actions that wait for the end of the response. */
function compare({ ended, actions }: TimeSavedTurn, seq: number): Compared {
  if (ended === undefined || ended.seq > seq) return { early: 0, savedMs: 0 };
  const endOf = (action: TurnAction) =>
    action.ended !== undefined && action.ended.seq <= seq ? action.ended.at : undefined;
  const started = actions
    .filter((action): action is StartedAction => action.started !== undefined && action.started.seq <= seq)
    .toSorted((a, b) => a.started.at - b.started.at);
  const waitedFor = createReleases(
    started.flatMap((action) => {
      const at = endOf(action);
      return at === undefined ? [] : [{ id: action.id, at }];
    }),
  );
  const ends = new Map<string, number>();
  let early = 0;
  let actual = ended.at;
  let waiting = ended.at;
  let behindSync = 0;
  for (const action of started) {
    const startedAt = action.started.at;
    if (startedAt < ended.at) early++;
    const waited = startedAt - action.declared.at > AT_ONCE_MS ? waitedFor(startedAt) : undefined;
    let begin = Math.max(ended.at, startedAt, behindSync);
    for (const id of [...(action.depends_on ?? []), ...(waited === undefined ? [] : [waited])])
      begin = Math.max(begin, ends.get(id) ?? 0);
    const endedAt = endOf(action);
    if (endedAt === undefined) continue;
    const end = begin + (endedAt - startedAt);
    ends.set(action.id, end);
    if (action.mode === 'sync') behindSync = Math.max(behindSync, end);
    if (action.mode === 'fire_and_forget' || action.mode === 'background') continue;
    actual = Math.max(actual, endedAt);
    waiting = Math.max(waiting, end);
  }
  return { early, savedMs: waiting - actual };
}

/** Names the action whose end came last before a time: what an action that started then had waited for. Times only grow. */
function createReleases(
  ends: readonly { readonly id: string; readonly at: number }[],
): (at: number) => string | undefined {
  const inOrder = ends.toSorted((a, b) => a.at - b.at);
  let next = 0;
  let last: string | undefined;
  return (at) => {
    for (let end = inOrder[next]; end !== undefined && end.at <= at; end = inOrder[next]) {
      last = end.id;
      next++;
    }
    return last;
  };
}
