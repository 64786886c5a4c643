import type { GateLimit, GateRow, LetIn, Standing } from './gate-row.ts';

/** Runs of one trigger that wait for their turn, and those of them that were dropped for another. */
const MAX_WAITING = 1_000;
/** How long whoever let a run in has for making its log, before it is taken to be dead. */
const MAKING_MS = 30_000;

export type Asked =
  | { readonly kind: 'in'; readonly row: GateRow }
  /** It is made, and comes for its turn itself. */
  | { readonly kind: 'may wait' }
  | { readonly kind: 'busy' };

/** A run that is not on its log yet. One that is not to wait is counted from here on. */
export function askFor(row: GateRow, run: string, now: number, { max, when_busy }: GateLimit): Asked {
  if (isIn(row, run)) return { kind: 'in', row };
  if (when_busy !== 'skip') return { kind: row.queue.length < MAX_WAITING ? 'may wait' : 'busy' };
  return hasRoom(row, max) ? { kind: 'in', row: letIn(row, run, now) } : { kind: 'busy' };
}

export type Turn =
  | { readonly kind: 'in'; readonly row: GateRow }
  | { readonly kind: 'waits'; readonly row: GateRow }
  /** Another one has taken its place: it is to end. */
  | { readonly kind: 'dropped'; readonly row: GateRow };

/** A run that is on its log comes for its turn. */
export function takeTurn(row: GateRow, run: string, now: number, { max, when_busy }: GateLimit): Turn {
  const { queue, dropped = [] } = row;
  if (isIn(row, run)) return { kind: 'in', row };
  if (dropped.includes(run)) return { kind: 'dropped', row };
  if (hasRoom(row, max)) return { kind: 'in', row: letIn(row, run, now) };
  if (queue.includes(run)) return { kind: 'waits', row };
  if (when_busy === 'replace') {
    const all = [...dropped, ...queue].slice(-MAX_WAITING);
    return { kind: 'waits', row: { ...row, queue: [run], dropped: all } };
  }
  return { kind: 'waits', row: { ...row, queue: [...queue, run] } };
}

export interface Passed {
  readonly row: GateRow;
  /** Whose turn has come. */
  readonly next: readonly string[];
}

/** Lets in whose turn has come. Where there seems to be no room, those that have ended, or were never made, make some. */
export async function passOn(
  row: GateRow,
  standingsOf: (runs: readonly string[]) => Promise<readonly Standing[]>,
  now: number,
  max: number,
): Promise<Passed> {
  const { queue } = row;
  let { under } = row;
  if (under.length >= max) {
    const standings = await standingsOf(under.map(({ run }) => run));
    const still = under.filter((each, at) => isUnder(each, standings[at], now));
    if (still.length < under.length) under = still; // else the row stays as it is, and is not written
  }
  const next: string[] = [];
  let at = 0;
  while (at < queue.length && under.length + next.length < max) {
    const some = queue.slice(at, at + max - under.length - next.length);
    const standings = await standingsOf(some);
    next.push(...some.filter((_, place) => standings[place] === 'there'));
    at += some.length;
  }
  if (under === row.under && at === 0) return { row, next };
  return {
    row: { ...row, under: [...under, ...next.map((run) => ({ run, at: now }))], queue: queue.slice(at) },
    next,
  };
}

const isUnder = ({ at }: LetIn, standing: Standing | undefined, now: number): boolean =>
  standing === 'there' || (standing === 'missing' && at + MAKING_MS > now);

/** It has ended, or could not be made. */
export const leaveRow = ({ under, queue, dropped = [], ...rest }: GateRow, run: string): GateRow => ({
  ...rest,
  under: under.filter((each) => each.run !== run),
  queue: queue.filter((each) => each !== run),
  dropped: dropped.filter((each) => each !== run),
});

export const isIn = ({ under }: GateRow, run: string): boolean => under.some((each) => each.run === run);

/** Who waits goes before who comes. */
const hasRoom = ({ under, queue }: GateRow, max: number): boolean => under.length < max && queue.length === 0;

const letIn = (row: GateRow, run: string, at: number): GateRow => ({
  ...row,
  under: [...row.under, { run, at }],
});
