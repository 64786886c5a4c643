import type { SessionEvent } from '../../../../../telltale/src/log/event.ts';

/** A time in which nothing happened, because a person or a process was missing. */
export interface Gap {
  readonly from: number;
  readonly to: number;
  /** The event that ended it. */
  readonly seq: number;
  readonly why: 'person' | 'away' | 'idle';
}

/** Shorter gaps are drawn in full. */
const SHORTEST_GAP_MS = 3_000;
/** The same while workflow runs are running. */
const SHORTEST_GAP_BESIDE_RUNS_MS = 60_000;

/** Events before the fork belong to another session and another time. */
const FORKED_BY = 'fork';

export interface IdleGaps {
  add(event: SessionEvent): void;
  readonly gaps: readonly Gap[];
  /** Why nothing happens now, if that is so. */
  idleNow(): Gap['why'] | undefined;
}

/** Finds the gaps between the events of a log. Activity only changes at an event, so each gap is between two events. */
export function createIdleGaps(): IdleGaps {
  const gaps: Gap[] = [];
  const running = new Set<string>();
  let runs = 0;
  let isSpeaking = false;
  /** A person was asked, and nothing else is left to do. */
  let isAsked = false;
  let isWaiting = false;
  let last: number | undefined;

  const whyIdle = (): Gap['why'] | undefined => {
    if (isWaiting) return 'person';
    if (isSpeaking || running.size > 0) return undefined;
    return isAsked ? 'person' : 'idle';
  };

  const note = (event: SessionEvent): void => {
    switch (event.type) {
      case 'turn.started':
        isSpeaking = true;
        isWaiting = false;
        isAsked = false;
        break;
      case 'turn.completed':
      case 'turn.failed':
        isSpeaking = false;
        break;
      case 'session.waiting':
        isWaiting = true;
        break;
      case 'review.requested':
        isAsked = true;
        break;
      case 'message.received':
      case 'review.resolved':
        isWaiting = false;
        isAsked = false;
        break;
      case 'session.resumed':
        isSpeaking = false;
        isWaiting = false;
        isAsked = false;
        running.clear();
        break;
      case 'action.started':
        isWaiting = false;
        running.add(event.id);
        break;
      case 'action.retrying':
      case 'action.completed':
      case 'action.failed':
      case 'action.cancelled':
      case 'action.interrupted':
        running.delete(event.id);
        break;
      case 'trigger.fired':
        runs++;
        break;
      case 'workflow.completed':
      case 'workflow.failed':
      case 'workflow.cancelled':
        runs = Math.max(0, runs - 1);
        break;
      default:
        break;
    }
  };

  return {
    add(event) {
      const from = last ?? event.at;
      const isBack =
        event.type === 'session.resumed' ||
        (event.type === 'review.resolved' && event.away === true) ||
        (event.type === 'audit' && event.who === FORKED_BY);
      const why = isBack ? 'away' : whyIdle();
      const shortest = runs > 0 ? SHORTEST_GAP_BESIDE_RUNS_MS : SHORTEST_GAP_MS;
      if (why !== undefined && event.at - from > shortest)
        gaps.push({ from, to: event.at, seq: event.seq, why });
      note(event);
      last = Math.max(from, event.at);
    },
    gaps,
    idleNow: whyIdle,
  };
}
