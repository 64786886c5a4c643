import type { DeclaredAction } from './action.ts';

/** When an action was declared, started and over. */
export interface Deed {
  readonly action: DeclaredAction;
  readonly declaredAt: number;
  startedAt?: number;
  endedAt?: number;
}

export interface ObservedTurn {
  readonly beganAt: number;
  /** When the model's stream had ended. */
  endedAt?: number;
  readonly deeds: Deed[];
}

export interface ComparedTurn {
  readonly early: number;
  readonly leadMs: number;
  readonly savedMs: number;
}

/** An action that starts within this time of its declaration has waited for no other. */
const AT_ONCE_MS = 5;

/**
 * One turn as it was, against one whose actions start when the response has ended, in the order they really had: an
 * action comes behind a sync one before it, and behind what it really waited for. What has not ended by now held
 * nobody up and does not count, nor does what nobody waits for.
 */
export function compareTurn({ endedAt, deeds }: ObservedTurn): ComparedTurn {
  if (endedAt === undefined) return { early: 0, leadMs: 0, savedMs: 0 };
  const started = deeds.filter(hasStarted).toSorted((a, b) => a.startedAt - b.startedAt);
  const released = createReleases(started);
  const ends = new Map<string, number>();
  let early = 0;
  let leadMs = 0;
  let actual = endedAt;
  let waiting = endedAt;
  let behindSync = 0;
  for (const deed of started) {
    const { action, startedAt } = deed;
    if (startedAt < endedAt) {
      early++;
      leadMs = Math.max(leadMs, endedAt - startedAt);
    }
    const waited = startedAt - deed.declaredAt > AT_ONCE_MS ? released(startedAt) : undefined;
    let begin = Math.max(endedAt, startedAt, behindSync);
    for (const id of [...(action.depends_on ?? []), ...(waited === undefined ? [] : [waited])])
      begin = Math.max(begin, ends.get(id) ?? 0);
    if (deed.endedAt === undefined) continue;
    const end = begin + (deed.endedAt - startedAt);
    ends.set(action.id, end);
    if (action.mode === 'sync') behindSync = Math.max(behindSync, end);
    if (action.mode === 'fire_and_forget') continue;
    actual = Math.max(actual, deed.endedAt);
    waiting = Math.max(waiting, end);
  }
  return { early, leadMs, savedMs: waiting - actual };
}

type StartedDeed = Deed & { readonly startedAt: number };
const hasStarted = (deed: Deed): deed is StartedDeed => deed.startedAt !== undefined;

/** Names the action whose end came last before a time: what an action that started then had waited for. Times only grow. */
function createReleases(deeds: readonly Deed[]): (at: number) => string | undefined {
  const ended = deeds.filter((deed) => deed.endedAt !== undefined);
  const byEnd = ended.toSorted((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0));
  let next = 0;
  let last: string | undefined;
  return (at) => {
    for (let deed = byEnd[next]; deed !== undefined && (deed.endedAt ?? 0) <= at; deed = byEnd[next]) {
      last = deed.action.id;
      next++;
    }
    return last;
  };
}
