import type { SessionEvent } from '../../../../../telltale/src/log/event.ts';
import { cloneState, reduceShared } from '../../../../../telltale/src/log/snapshot.ts';
import { emptyState, type SessionState } from '../../../../../telltale/src/log/state.ts';

/**
 * Events between two checkpoints. Folding this many takes a millisecond or two, and a checkpoint of a long log contains
 * thousands of actions.
 */
const CHECKPOINT_EVERY = 2_000;

/** The state of a session at every event of its log. */
export interface StateTimeline {
  /** Adds the next event. */
  add(event: SessionEvent): void;
  /** The state after event `seq`, or after the last event. Read it before the next call and do not keep it. */
  at(seq: number): SessionState;
  head(): SessionState;
}

/**
 * Keeps a copy of the state every `CHECKPOINT_EVERY` events, and the state that was read last. Going forward folds the
 * events in between; going back starts from a copy.
 */
export function createStateTimeline(events: readonly SessionEvent[]): StateTimeline {
  const head = emptyState();
  const checkpoints: SessionState[] = [emptyState()];
  let cursor: SessionState | undefined;

  const foldTo = (state: SessionState, seq: number): SessionState => {
    while (state.seq < seq) {
      const event = events[state.seq];
      if (event === undefined) break;
      reduceShared(state, event);
    }
    return state;
  };

  return {
    add(event) {
      reduceShared(head, event);
      if (event.seq % CHECKPOINT_EVERY === 0) checkpoints.push(cloneState(head));
    },
    at(seq) {
      if (seq >= head.seq) return head;
      const base = Math.floor(seq / CHECKPOINT_EVERY);
      const isNear = cursor !== undefined && cursor.seq <= seq && cursor.seq >= (base - 1) * CHECKPOINT_EVERY;
      if (!isNear) cursor = cloneState(checkpoints[base] ?? emptyState());
      cursor = foldTo(cursor ?? emptyState(), seq);
      return cursor;
    },
    head: () => head,
  };
}
