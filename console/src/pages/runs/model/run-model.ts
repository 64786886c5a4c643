import type { TelltaleClient } from '../../../../../telltale/src/client/client.ts';
import type { ErrorJson } from '../../../../../telltale/src/lib/errors.ts';
import { foldRun, reduceRun } from '../../../../../telltale/src/log/reduce-run.ts';
import type { RunEvent } from '../../../../../telltale/src/log/run-event.ts';
import { emptyRun, type RunState } from '../../../../../telltale/src/log/run-state.ts';

/** How complete the known events are. `lost` means that they are correct but newer ones may be missing. */
export type RunFollowing =
  | { readonly kind: 'loading' }
  | { readonly kind: 'live' }
  | { readonly kind: 'lost'; readonly error: ErrorJson }
  | { readonly kind: 'ended' }
  /** The run cannot be read at all. */
  | { readonly kind: 'refused'; readonly error: ErrorJson };

/** One run: its log, and the state folded from it. */
export interface RunModel {
  readonly events: readonly RunEvent[];
  /** The state after all known events, or after `seq` of them. Do not change it. */
  readonly stateAt: (seq?: number) => RunState;
  readonly following: () => RunFollowing;
  /** Increases when anything above changes. */
  readonly version: () => number;
  readonly subscribe: (changed: () => void) => () => void;
  /** Follows the run from the last known event. This also works for a run that ended and continued. */
  readonly open: () => void;
  readonly close: () => void;
}

export interface RunModelEdges {
  readonly source: Pick<TelltaleClient, 'followRun'>;
  readonly id: string;
  /** Calls `run` once, soon, so that events that arrive together are shown together. */
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
