import type { Clock } from '../../lib/clock.ts';
import { RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import type { RunOrigin } from '../../log/run-event.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import type { Store, Tables, TableWrite } from '../../store/store.ts';
import { triggersOf } from '../../triggers/compile-triggers.ts';
import { hasEnded } from '../ending/has-ended.ts';
import type { OutsideOutcome, WorkflowRun } from '../runs/run-types.ts';

/** A run that a trigger sets off: its id, and what it is started with. */
export interface Entrant {
  readonly run: string;
  readonly seen: JsonObject;
  /** It is on its log, or waits in the store, or never will start; or what was thrown. Called once. */
  over(thrown?: unknown): void;
}

export interface GateDeps {
  readonly clock: Clock;
  readonly tables: Tables;
  readonly info: Store['info'];
  readonly start: (run: string, seen: JsonObject) => BegunRun;
  /** Asks for the end of a run, wherever it is worked on. */
  readonly cancel: (run: string, reason: string) => Promise<void>;
  readonly crashPoint?: ((name: string) => void) | undefined;
  readonly onError: (thrown: unknown) => void;
}

/** `concurrency` of a trigger, over all processes of a store, and through restarts. */
export interface OutsideGate {
  enter(entrant: Entrant): Promise<OutsideOutcome>;
  close(): void;
}

/** Runs whose ends are looked for side by side. */
const LOOKS = 32;
/** While some wait here, ends of runs that another process works on are looked for this often. */
const QUEUED_LOOK_MS = 2_000;
/** Some may wait that a process left behind which is dead. */
const IDLE_LOOK_MS = 30_000;
/** A store that fails is asked again after that. */
const RETRY_MS = 10_000;

const REPLACED = 'Its trigger came again, and says when_busy: replace.';

/**
 * A run is let in in the store first, with what it is started with. Its id follows from what set it off: whoever starts
 * what another left does not start it twice, and one that takes long to begin is still counted. So there are never more
 * than `max`, and what waits is lost with no process.
 */
export function createGate(deps: GateDeps, name: string, limit: GateLimit): OutsideGate {
  const { clock, onError, crashPoint } = deps;
  const table = createGateTable(deps.tables, name);
  /** Being started here. */
  const held = new Set<string>();
  /** Runs that were asked to end for another. */
  const asked = new Set<string>();
  let closed = false;
  let disarm: () => void = () => undefined;

  const standingOf = async (run: string): Promise<GateStanding> => {
    const info = await deps.info(run);
    if (info === undefined || info.head === 0) return 'missing';
    return hasEnded(info.status) ? 'over' : 'there';
  };
  const standings = async ({ under }: GateRow): Promise<ReadonlyMap<string, GateStanding>> => {
    const found = new Map<string, GateStanding>();
    for (let at = 0; at < under.length; at += LOOKS)
      await Promise.all(
        under.slice(at, at + LOOKS).map(async ({ run }) => found.set(run, await standingOf(run))),
      );
    return found;
  };

  /**
   * Starts a run that was let in. `onLog` is given the refusal where it is there already: whoever let it in first has
   * started it, and died before it could say so.
   */
  const begin = (
    { run }: LetIn,
    seen: JsonObject,
    onLog: (refused?: unknown) => void,
    onFailed: (thrown: unknown) => void,
  ) => {
    held.add(run);
    crashPoint?.('gate:let-in');
    const { run: live, made } = deps.start(run, seen);
    const ended = () => attempt(look);
    live.result.then(ended, ended);
    const there = (refused?: unknown) => {
      held.delete(run);
      onLog(refused);
      table.forget(run).catch(onError); // else its end does
    };
    made.then(
      () => there(),
      (thrown: unknown) => {
        if (toRuntimeError(thrown).code === 'stream_exists') there(thrown);
        else {
          held.delete(run);
          onFailed(thrown);
        }
      },
    );
  };
  const beginNow = ({ run, seen, over }: Entrant, row: GateRow): void => {
    const entered = letInOf(row, run);
    begin(entered, seen, over, (thrown) => {
      const left = table.change((now) => {
        const without = leaveGate(now, entered);
        return without && { row: without, forget: [run] };
      });
      // What stays behind is started by a look.
      left.catch(onError).finally(() => over(thrown));
    });
  };
  /** What waited, or what another left, waits on where it cannot be started. */
  const beginKept = async (run: string, row: GateRow): Promise<void> => {
    const entered = letInOf(row, run);
    const seen = await table.seen(run);
    const leave = (how: (without: GateRow) => GateRow) =>
      table.change((now) => {
        const without = leaveGate(now, entered);
        return without && { row: how(without) };
      });
    if (closed) return;
    if (seen === undefined) await leave((without) => without);
    else
      begin(
        entered,
        seen,
        () => undefined,
        (thrown) => {
          onError(thrown);
          attempt(async () => {
            await leave((without) => ({ ...without, queue: [run, ...without.queue] }));
            arm(RETRY_MS);
          });
        },
      );
  };
  const endOldest = ({ under, queue }: GateRow): void => {
    const oldest = under[0]?.run;
    if (limit.when_busy !== 'replace' || queue.length === 0 || under.length < limit.max) return;
    if (oldest === undefined || asked.has(oldest)) return;
    asked.add(oldest);
    deps.cancel(oldest, REPLACED).catch(() => asked.delete(oldest)); // it is not there yet: the next look asks again
  };

  /** Notes ends, lets in who waits, and starts what another let in and did not start. */
  const look = async (): Promise<void> => {
    if (closed) return;
    let known: GateRow | undefined;
    const looked = await table.change(async (row) => {
      known = row;
      if (closed) return undefined;
      const decided = lookThrough(row, await standings(row), held, clock.now(), limit.max);
      return decided && { ...decided, forget: decided.over };
    });
    const row = looked?.row ?? known;
    for (const run of looked?.over ?? []) asked.delete(run);
    if (row === undefined) return;
    for (const run of looked?.start ?? []) await beginKept(run, row);
    endOldest(row);
    arm(row.queue.length > 0 ? QUEUED_LOOK_MS : IDLE_LOOK_MS);
  };
  const arm = (ms: number): void => {
    disarm();
    if (!closed && limit.when_busy !== 'skip') disarm = clock.after(ms, () => attempt(look));
  };
  const attempt = (work: () => Promise<void>): void => {
    work().catch((thrown: unknown) => {
      if (closed) return;
      onError(thrown);
      arm(RETRY_MS);
    });
  };

  attempt(look);
  return {
    async enter(entrant) {
      const { run, seen } = entrant;
      const keep = { run, seen };
      const admit = (mayWait: boolean) =>
        table.change((row) => {
          const entry = enterGate(row, run, clock.now(), limit);
          if (entry.kind === 'busy' || (entry.kind === 'waiting' && !mayWait)) return undefined;
          return { ...entry, keep, ...(entry.kind === 'waiting' ? { forget: entry.dropped } : {}) };
        });
      let entry = await admit(false);
      if (entry === undefined) {
        await look();
        entry = await admit(true);
      }
      if (entry === undefined) {
        entrant.over();
        return { kind: 'suppressed', reason: 'busy' };
      }
      if (entry.kind === 'start') {
        beginNow(entrant, entry.row);
        return { kind: 'started', run };
      }
      entrant.over();
      endOldest(entry.row);
      arm(QUEUED_LOOK_MS);
      return { kind: 'waiting' };
    },
    close() {
      closed = true;
      disarm();
    },
  };
}

const letInOf = ({ under }: GateRow, run: string): LetIn =>
  under.find((each) => each.run === run) ?? { run, at: 0 };

export const GATES = 'gates';
/** What runs are started with that are not on their logs yet: each may hold a megabyte. */
const SEEN = 'gates_seen';
/** Others change a row when a run comes, begins or ends. */
const MAX_TRIES = 100;

export interface GateTable {
  read(): Promise<GateRow>;
  seen(run: string): Promise<JsonObject | undefined>;
  /** It is on its log. */
  forget(run: string): Promise<void>;
  /** Writes what `decide` makes of the row, unless that is undefined; decides again where another was quicker. */
  change<Decided extends GateChange>(
    decide: (row: GateRow) => Decided | undefined | Promise<Decided | undefined>,
  ): Promise<Decided | undefined>;
}

export interface GateChange {
  readonly row: GateRow;
  /** What a run is to be started with. */
  readonly keep?: { readonly run: string; readonly seen: JsonObject } | undefined;
  readonly forget?: readonly string[];
}

/** The row of one trigger. Changes of this process are made one after the other. */
export function createGateTable(tables: Tables, name: string): GateTable {
  let tail: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const done = tail.then(work);
    tail = done.catch(() => undefined); // whoever asked hears of it
    return done;
  };
  const is = { table: GATES, key: name };
  const seenOf = (run: string) => ({ table: SEEN, key: `${name}/${run}` });
  return {
    read: async () => readGate(await tables.get(GATES, name)),
    async seen(run) {
      const value = await tables.get(SEEN, seenOf(run).key);
      return isJsonObject(value) ? value : undefined;
    },
    async forget(run) {
      await tables.delete(SEEN, seenOf(run).key);
    },
    change: (decide) =>
      inTurn(async () => {
        for (let tries = 0; tries < MAX_TRIES; tries++) {
          const found = await tables.get(GATES, name);
          const decided = await decide(readGate(found));
          if (decided === undefined) return undefined;
          const { row, keep, forget = [] } = decided;
          const writes: TableWrite[] = [
            { ...is, value: row as unknown as Json },
            ...forget.map((run) => ({ ...seenOf(run), value: undefined })),
            ...(keep === undefined ? [] : [{ ...seenOf(keep.run), value: keep.seen }]),
          ];
          if (await tables.exchange([{ ...is, value: found }], writes)) return decided;
        }
        throw gateContended(name);
      }),
  };
}

const gateContended = (name: string) =>
  new RuntimeError(
    'trigger_contended',
    `Others changed what is known of the runs of "${name}" ${MAX_TRIES} times while one was to be let in.`,
    { hint: 'Send it again. How many processes listen on this store?', retryable: true },
  );

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

export type GateEntry =
  | { readonly kind: 'start'; readonly row: GateRow }
  /** `dropped`: those that waited and never will start. */
  | { readonly kind: 'waiting'; readonly row: GateRow; readonly dropped: readonly string[] }
  | { readonly kind: 'busy' };

/** A run comes to the gate. One that has been here before, and whose process died, goes where it stood. */
function enterGate(row: GateRow, run: string, now: number, { max, when_busy }: GateLimit): GateEntry {
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
export type GateStanding = 'there' | 'over' | 'missing';

export interface Looked {
  readonly row: GateRow;
  /** To be started: their turn has come, or whoever let them in has not done it. */
  readonly start: readonly string[];
  /** Those that have ended. */
  readonly over: readonly string[];
}

/** Lets in whose turn has come; undefined where nothing changes. `held`: those that are being started here. */
function lookThrough(
  row: GateRow,
  standing: ReadonlyMap<string, GateStanding>,
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
function leaveGate(row: GateRow, { run, at }: LetIn): GateRow | undefined {
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

/** `concurrency` of a manual trigger, and the name under which the store counts the runs. */
export interface HandGate {
  readonly name: string;
  readonly workflow: string;
  readonly limit: GateLimit;
}

export const handGateName = (agent: string, workflow: string): string => `by hand ${agent}:${workflow}`;

/** The gate of a run that somebody asked for: undefined where nobody did, or where any number may be under way. */
export function handGate(
  workflow: WorkflowManifest,
  agent: string,
  { trigger, parent, leads, session, action }: Omit<RunOrigin, 'chain' | 'agents'> = {},
): HandGate | undefined {
  // What a session calls without an action is a feed.
  if (trigger !== undefined || parent !== undefined || leads === true) return undefined;
  if (session !== undefined && action === undefined) return undefined;
  for (const { manifest } of triggersOf(workflow))
    if (manifest.type === 'manual' && manifest.concurrency !== undefined)
      return {
        name: handGateName(agent, workflow.name),
        workflow: workflow.name,
        limit: manifest.concurrency,
      };
  return undefined;
}

/** A run that was begun: `made` settles once it is on its log, and rejects with `stream_exists` where it was before. */
export interface BegunRun {
  readonly run: WorkflowRun;
  readonly made: Promise<void>;
}
