import { compareTurn, type Deed } from '../../../../../telltale/src/events/compare-turn.ts';
import type { Moment } from './action-phases.ts';
import type { TurnRow } from './waterfall-rows.ts';

/** What it was worth that actions did not wait for the end of the model's response. */
export interface Saving {
  /** Actions that began while the model was still speaking, of all that began. */
  readonly early: number;
  readonly started: number;
  readonly savedMs: number;
  /** Time in which actions ran and the model spoke. */
  readonly overlapMs: number;
}

const NOTHING: Saving = { early: 0, started: 0, savedMs: 0, overlapMs: 0 };

/** What all turns up to a moment saved. */
export interface SavingTimeline {
  at(moment: Moment): Saving;
}

/** Works out each turn once it is over with all that it asked for, and the few others each time. */
export function createSavingTimeline(turns: readonly TurnRow[]): SavingTimeline {
  const settled = new WeakMap<TurnRow, { readonly seq: number; readonly saving: Saving }>();
  const savingIn = (turn: TurnRow, moment: Moment): Saving => {
    const known = settled.get(turn);
    if (known !== undefined && known.seq <= moment.seq) return known.saving;
    const saving = savingOf(turn, moment);
    const seq = settledAt(turn);
    if (seq !== undefined && seq <= moment.seq) settled.set(turn, { seq, saving });
    return saving;
  };
  return {
    at(moment) {
      let sum = NOTHING;
      for (const turn of turns) {
        if (turn.seq > moment.seq) break;
        sum = plus(sum, savingIn(turn, moment));
      }
      return sum;
    },
  };
}

/** The event behind which nothing about a turn and its actions changes. */
function settledAt({ end, actions }: TurnRow): number | undefined {
  if (end === undefined) return undefined;
  let last = end.seq;
  for (const action of actions) {
    if (action.end === undefined) return undefined;
    last = Math.max(last, action.end.seq);
  }
  return last;
}

function savingOf(turn: TurnRow, moment: Moment): Saving {
  const deeds: Deed[] = [];
  const spans: [from: number, to: number][] = [];
  const isOver = turn.end !== undefined && turn.end.seq <= moment.seq;
  const spokeUntil = isOver ? (turn.end?.spokeUntil ?? moment.at) : moment.at;
  let started = 0;
  for (const { action, at, attempts, end, seq } of turn.actions) {
    const first = attempts[0];
    if (seq > moment.seq || first === undefined || first.seq > moment.seq) continue;
    started++;
    const isEnded = end !== undefined && end.seq <= moment.seq;
    const deed: Deed = { action, declaredAt: at, startedAt: first.at };
    if (isEnded) deed.endedAt = end.at;
    deeds.push(deed);
    for (const each of attempts)
      if (each.at < spokeUntil) spans.push([each.at, Math.min(spokeUntil, each.end?.at ?? moment.at)]);
  }
  const observed = { beganAt: turn.at, deeds, ...(isOver ? { endedAt: spokeUntil } : {}) };
  const { early, savedMs } = compareTurn(observed);
  const isEarly = ({ startedAt = Number.POSITIVE_INFINITY }: Deed) => startedAt < spokeUntil;
  return {
    ...{ started, savedMs },
    early: isOver ? early : deeds.filter(isEarly).length,
    overlapMs: covered(spans),
  };
}

/** How much of the time these spans, which may overlap, cover. */
function covered(spans: readonly (readonly [number, number])[]): number {
  let sum = 0;
  let until = Number.NEGATIVE_INFINITY;
  for (const [from, to] of spans.toSorted(([a], [b]) => a - b)) {
    if (to <= until) continue;
    sum += to - Math.max(from, until);
    until = to;
  }
  return sum;
}

const plus = (a: Saving, b: Saving): Saving => ({
  early: a.early + b.early,
  started: a.started + b.started,
  savedMs: a.savedMs + b.savedMs,
  overlapMs: a.overlapMs + b.overlapMs,
});
