import type { GateLimit, GateRow, LetIn, Standing } from './gate-row.ts';

/** Runs of one trigger that wait for their turn. */
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
  /** `dropped`: those that waited and never will have a turn. */
  | { readonly kind: 'waits'; readonly row: GateRow; readonly dropped: readonly string[] };

/** A run that is on its log comes for its turn: it is never sent away. */
export function takeTurn(row: GateRow, run: string, now: number, { max, when_busy }: GateLimit): Turn {
  if (isIn(row, run)) return { kind: 'in', row };
  if (hasRoom(row, max)) return { kind: 'in', row: letIn(row, run, now) };
  const { queue } = row;
  if (queue.includes(run)) return { kind: 'waits', row, dropped: [] };
  if (when_busy === 'replace') return { kind: 'waits', row: { ...row, queue: [run] }, dropped: queue };
  return { kind: 'waits', row: { ...row, queue: [...queue, run] }, dropped: [] };
}

export interface Passed {
  readonly row: GateRow;
  /** Whose turn has come. */
  readonly next: readonly string[];
}

/** Forgets those that have ended, or were never made, and lets in whose turn has come. */
export async function passOn(
  { under, queue }: GateRow,
  standingOf: (run: string) => Promise<Standing>,
  now: number,
  max: number,
): Promise<Passed> {
  const still: LetIn[] = [];
  for (const each of under) {
    const standing = await standingOf(each.run);
    if (standing === 'there' || (standing === 'missing' && each.at + MAKING_MS > now)) still.push(each);
  }
  const next: string[] = [];
  let at = 0;
  for (; at < queue.length && still.length + next.length < max; at++) {
    const run = queue[at] as string;
    if ((await standingOf(run)) === 'there') next.push(run);
  }
  return {
    row: { under: [...still, ...next.map((run) => ({ run, at: now }))], queue: queue.slice(at) },
    next,
  };
}

export const leaveRow = ({ under, queue }: GateRow, run: string): GateRow => ({
  under: under.filter((each) => each.run !== run),
  queue: queue.filter((each) => each !== run),
});

export const isIn = ({ under }: GateRow, run: string): boolean => under.some((each) => each.run === run);

/** Who waits goes before who comes. */
const hasRoom = ({ under, queue }: GateRow, max: number): boolean => under.length < max && queue.length === 0;

const letIn = (row: GateRow, run: string, at: number): GateRow => ({
  ...row,
  under: [...row.under, { run, at }],
});
