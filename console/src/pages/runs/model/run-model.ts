import type { TelltaleClient } from '../../../../../telltale/src/client/client.ts';
import type { ErrorJson } from '../../../../../telltale/src/lib/errors.ts';
import { foldRun, reduceRun } from '../../../../../telltale/src/log/reduce-run.ts';
import type { RunEvent } from '../../../../../telltale/src/log/run-event.ts';
import { emptyRun, type RunState } from '../../../../../telltale/src/log/run-state.ts';

/** How what is known stands with the server. `lost`: it is true, but may no longer be all. */
export type RunFollowing =
  | { readonly kind: 'loading' }
  | { readonly kind: 'live' }
  | { readonly kind: 'lost'; readonly error: ErrorJson }
  | { readonly kind: 'ended' }
  /** It cannot be had at all. */
  | { readonly kind: 'refused'; readonly error: ErrorJson };

/** One run: its log, and what it folds to. */
export interface RunModel {
  readonly events: readonly RunEvent[];
  /** After all events that are known, or after `seq` of them. Not to be changed. */
  readonly stateAt: (seq?: number) => RunState;
  readonly following: () => RunFollowing;
  /** Goes up when anything above has changed. */
  readonly version: () => number;
  readonly subscribe: (changed: () => void) => () => void;
  /** Follows it from the last event that is known; also one that had ended and went on. */
  readonly open: () => void;
  readonly close: () => void;
}

export interface RunModelEdges {
  readonly source: Pick<TelltaleClient, 'followRun'>;
  readonly id: string;
  /** Calls back once, soon: events that come together are shown together. */
  readonly schedule: (run: () => void) => void;
}

export function createRunModel({ source, id, schedule }: RunModelEdges): RunModel {
  const events: RunEvent[] = [];
  const head = emptyRun();
  const listeners = new Set<() => void>();
  let following: RunFollowing = { kind: 'loading' };
  let then: { readonly seq: number; readonly state: RunState } | undefined;
  let version = 0;
  let planned = false;
  let stop: (() => void) | undefined;

  const changed = () => {
    if (planned) return;
    planned = true;
    schedule(() => {
      planned = false;
      version++;
      for (const tell of listeners) tell();
    });
  };
  const stand = (next: RunFollowing) => {
    following = next;
    changed();
  };

  return {
    events,
    stateAt(seq = events.length) {
      if (seq >= events.length) return head;
      if (then?.seq !== seq) then = { seq, state: foldRun(events.slice(0, Math.max(0, seq))) };
      return then.state;
    },
    following: () => following,
    version: () => version,
    subscribe(tell) {
      listeners.add(tell);
      return () => listeners.delete(tell);
    },
    open() {
      stop?.();
      stop = source.followRun(
        id,
        (told) => {
          if (told.kind === 'event') {
            if (told.event.seq !== events.length + 1) return;
            events.push(told.event);
            reduceRun(head, told.event);
            changed();
          } else if (told.kind === 'open') stand({ kind: 'live' });
          else if (told.kind === 'end') {
            if (following.kind !== 'refused') stand({ kind: 'ended' });
          } else stand({ kind: Number.isFinite(told.retryInMs) ? 'lost' : 'refused', error: told.error });
        },
        { after: events.length },
      );
    },
    close() {
      stop?.();
      stop = undefined;
    },
  };
}
