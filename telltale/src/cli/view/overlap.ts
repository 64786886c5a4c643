import { compareTurn, type Deed, type ObservedTurn } from '../../events/compare-turn.ts';
import type { SessionEvent } from '../../events/event.ts';

/** What it was worth that actions did not wait for the end of the model's response. */
export interface Overlap {
  /** Actions that started while the model was still speaking. */
  readonly early: number;
  /** How long before the end of its response the earliest of them started. */
  readonly leadMs: number;
  /** Time in which the session was worked on: without pauses for a person or between two processes. */
  readonly actualMs: number;
  /** The same if every action had waited for the end of the response that asked for it. */
  readonly waitingMs: number;
}

export interface OverlapFold {
  add(event: SessionEvent): void;
  /** `leftAt`: when it was let go of, where that is no event. It was worked on until then. */
  result(leftAt?: number): Overlap;
}

/** `overlapOf` for events that come one by one. Keeps a few numbers for each action. */
export function createOverlapFold(): OverlapFold {
  const deeds = new Map<string, Deed>();
  let turn: ObservedTurn | undefined;
  let firstAt: number | undefined;
  let lastAt = 0;
  let pausedMs = 0;
  let waitingSince: number | undefined;
  let early = 0;
  let leadMs = 0;
  let savedMs = 0;

  const account = () => {
    if (turn === undefined) return;
    const compared = compareTurn(turn);
    early += compared.early;
    leadMs = Math.max(leadMs, compared.leadMs);
    savedMs += compared.savedMs;
    turn = undefined;
  };

  const end = (id: string, at: number) => {
    const deed = deeds.get(id);
    if (deed?.startedAt !== undefined) deed.endedAt ??= at;
  };

  return {
    add(event) {
      firstAt ??= event.at;
      switch (event.type) {
        case 'session.resumed':
          pausedMs += event.at - (waitingSince ?? lastAt);
          waitingSince = undefined;
          // Of a stream that another process cut off nobody knows when it would have ended.
          if (turn?.endedAt === undefined) turn = undefined;
          break;
        case 'session.waiting':
          waitingSince ??= event.at;
          break;
        case 'turn.started':
          account();
          if (waitingSince !== undefined) pausedMs += event.at - waitingSince;
          waitingSince = undefined;
          turn = { beganAt: event.at, deeds: [] };
          break;
        case 'turn.completed':
          if (turn !== undefined) turn.endedAt = Math.min(event.at, turn.beganAt + event.ms);
          break;
        case 'turn.failed':
          turn = undefined; // as above: it was cut off, from here or there
          break;
        case 'action.declared': {
          const deed: Deed = { action: event.action, declaredAt: event.at };
          deeds.set(event.action.id, deed);
          turn?.deeds.push(deed);
          break;
        }
        case 'action.started': {
          const deed = deeds.get(event.id);
          if (deed !== undefined) deed.startedAt ??= event.at;
          break;
        }
        case 'action.completed':
        case 'action.failed':
        case 'action.cancelled':
        case 'action.interrupted':
          end(event.id, event.at);
          break;
      }
      lastAt = event.at;
    },
    result(leftAt = lastAt) {
      account();
      const until = waitingSince ?? Math.max(lastAt, leftAt);
      const actualMs = Math.max(0, until - (firstAt ?? until) - pausedMs);
      return { early, leadMs, actualMs, waitingMs: actualMs + savedMs };
    },
  };
}

export function overlapOf(events: Iterable<SessionEvent>): Overlap {
  const fold = createOverlapFold();
  for (const event of events) fold.add(event);
  return fold.result();
}
