import { isJsonObject, type Json } from '../../kernel/json.ts';

/** What the store knows of the runs of one trigger, over all processes. */
export interface GateRow {
  /** Runs that were let in, oldest first; those that have ended stand here until somebody looks. */
  readonly under: readonly LetIn[];
  /** Runs that wait for one of them to end, oldest first. */
  readonly queue: readonly string[];
  /** Of runs that were started by hand: those that never will have a turn and have not ended yet. */
  readonly dropped?: readonly string[];
  /** And how many may be under way, for whoever ends a run and does not know its workflow. */
  readonly max?: number;
}

export interface LetIn {
  readonly run: string;
  /** When it was let in. */
  readonly at: number;
}

/** `concurrency` of a trigger. */
export interface GateLimit {
  readonly max: number;
  readonly when_busy: 'skip' | 'queue' | 'replace';
}

const EMPTY_GATE: GateRow = { under: [], queue: [] };

/** Runs of one trigger that wait for others to end. */
const MAX_QUEUED = 1_000;
/** How long whoever let a run in has for starting it before another takes it to be dead, and starts it. */
const LET_IN_MS = 30_000;

export type Entry =
  | { readonly kind: 'start'; readonly row: GateRow }
  /** `dropped`: those that waited and never will start. */
  | { readonly kind: 'waiting'; readonly row: GateRow; readonly dropped: readonly string[] }
  | { readonly kind: 'busy' };

/** A run comes to the gate. One that has been here before, and whose process died, goes where it stood. */
export function enterGate(row: GateRow, run: string, now: number, { max, when_busy }: GateLimit): Entry {
  const { under, queue } = row;
  if (under.some((each) => each.run === run))
    return { kind: 'start', row: { ...row, under: letIn(without(under, run), run, now) } };
  if (queue.includes(run)) return { kind: 'waiting', row, dropped: [] };
  if (hasRoom(row, max)) return { kind: 'start', row: { ...row, under: letIn(under, run, now) } };
  switch (when_busy) {
    case 'skip':
      return { kind: 'busy' };
    case 'queue':
      if (queue.length >= MAX_QUEUED) return { kind: 'busy' };
      return { kind: 'waiting', row: { ...row, queue: [...queue, run] }, dropped: [] };
    case 'replace':
      return { kind: 'waiting', row: { ...row, queue: [run] }, dropped: queue };
  }
}

/** Who waits goes before who comes. */
const hasRoom = ({ under, queue }: GateRow, max: number): boolean => under.length < max && queue.length === 0;

/** What became of a run that was let in. `missing`: it is on no log. */
export type Standing = 'there' | 'over' | 'missing';

export interface Looked {
  readonly row: GateRow;
  /** To be started: their turn has come, or whoever let them in has not done it. */
  readonly start: readonly string[];
  /** Those that have ended. */
  readonly over: readonly string[];
}

/** Lets in whose turn has come; undefined where nothing changes. `held`: those that are being started here. */
export function lookThrough(
  row: GateRow,
  standing: ReadonlyMap<string, Standing>,
  held: ReadonlySet<string>,
  now: number,
  max: number,
): Looked | undefined {
  const over = row.under.flatMap(({ run }) => (standing.get(run) === 'over' ? [run] : []));
  const left = row.under.flatMap(({ run, at }) =>
    standing.get(run) === 'missing' && !held.has(run) && at + LET_IN_MS <= now ? [run] : [],
  );
  const still = row.under.filter(({ run }) => !over.includes(run));
  const next = row.queue.slice(0, Math.max(0, max - still.length));
  if (over.length === 0 && left.length === 0 && next.length === 0) return undefined;
  const renewed = still.map((each) => (left.includes(each.run) ? { ...each, at: now } : each));
  return {
    row: {
      under: [...renewed, ...next.map((run) => ({ run, at: now }))],
      queue: row.queue.slice(next.length),
    },
    start: [...left, ...next],
    over,
  };
}

/** It could not be started by who let it in then: undefined where another has let it in since, whose word it is now. */
export function leaveGate(row: GateRow, { run, at }: LetIn): GateRow | undefined {
  if (!row.under.some((each) => each.run === run && each.at === at)) return undefined;
  return { ...row, under: without(row.under, run) };
}

const letIn = (under: readonly LetIn[], run: string, at: number): readonly LetIn[] => [...under, { run, at }];

const without = (under: readonly LetIn[], run: string): readonly LetIn[] =>
  under.filter((each) => each.run !== run);

/** An empty one where it is none. */
export function readGate(value: Json | undefined): GateRow {
  if (!isJsonObject(value)) return EMPTY_GATE;
  if (!Array.isArray(value.under) || !Array.isArray(value.queue)) return EMPTY_GATE;
  return value as unknown as GateRow;
}
