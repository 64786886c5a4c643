import type { RunJournal } from '../../engine/run-log.ts';
import { type RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import type { MachineEnd } from '../../workflows/machine/run-machine.ts';
import type { HandGate } from '../outside/gate.ts';
import type { Turns } from '../outside/turns.ts';
import type { NewRun } from './new-run.ts';
import { createRun, type HeldRun } from './open-run.ts';
import type { Ground, Realm, RunsDeps } from './run-environment.ts';
import type { RunInbox } from './run-inbox.ts';
import type { RunResult } from './run-types.ts';

export interface DriveCall {
  readonly held: HeldRun;
  readonly realm: Realm;
  readonly entry: BoardEntry;
}

/** How a walk ended; who cancelled it, where somebody did. */
export type RunWalkEnd =
  | Exclude<MachineEnd, { readonly kind: 'cancelled' }>
  | { readonly kind: 'cancelled'; readonly reason: string; readonly by: string };

/** A walk through a workflow. */
export interface Driven {
  /** Begins it, once. */
  run(): Promise<RunWalkEnd>;
  cancel(reason: string, by: string): void;
  /** The last event that its steps have heard of: what came later is news to the next walk. */
  seen(): number;
  /** Stops at once, and writes nothing more. */
  letGo(error?: RuntimeError): void;
}

/** Loads what walks a workflow when the first one is run. */
export type DriveRun = (call: DriveCall) => Promise<Driven>;

/** What this process knows of a run that it has something to do with. */
export interface BoardEntry {
  readonly run: string;
  /** In whose name it works, where this process knows. */
  ground?: Ground | undefined;
  /** Whether that was read from where its manifest is, and can be so again. */
  isGroundRead?: boolean;
  /** Its stream, where it was just made or taken and nobody works on it yet. */
  fresh?: HeldRun | undefined;
  /** Who asked for it to go on: named once, on the next `workflow.resumed`. */
  resumedBy?: string | undefined;
  /** Whether it is held for a while when it waits for its client: a server of such clients works on it. */
  lingers?: boolean;
  /** While it is worked on: ends it. */
  cancel?: ((reason: string, by: string) => void) | undefined;
  /** While it is worked on: stops at once, and writes nothing more. */
  letGo?: (() => void) | undefined;
  /** While it is worked on: what others of this process see of it, and how they give it a message. */
  live?: { readonly journal: RunJournal; readonly take: RunInbox['take'] } | undefined;
  /**
   * Steps that wait for the client, told as soon as what it sent is in the log's queue, ahead of the commit; or for the
   * session that the run leads, told when it is resumed here.
   */
  readonly claims: Set<() => void>;
  /** While it only waits, and this process would go on with it: up to where its log went, and what watches it. */
  parked?: { readonly seq: number; readonly unwatch?: () => void } | undefined;
  /** Whether another process had it when it was looked at. */
  wasOwned?: boolean;
  /** Whether somebody here wants it gone on with, whatever its log says. */
  isAsked?: boolean;
  /** Whether somebody has resumed it, or its caller goes on with it: then it goes on although it is quarantined. */
  isReleased?: boolean;
  readonly listeners: Set<BoardListener>;
}

export interface BoardListener {
  /** It has ended, or this process has let go of it. */
  onEnd(result: RunResult): void;
  /** It has nothing to do before that time, or before something comes. */
  onWaiting?(waiting: { readonly for: string; readonly due?: number }): void;
  /** It goes on. */
  onWork?(): void;
  /** Another process works on it: whoever does not leave waits for that. */
  onOwned?(error: unknown): void;
  /** It cannot be worked on here. */
  onError(error: unknown): void;
}

/** The runs of this process. Nothing on it matters after a restart. */
export interface RunBoard {
  entry(run: string): BoardEntry;
  find(run: string): BoardEntry | undefined;
  /** How many of them wait, and are watched or about to be. */
  parked(): number;
  park(entry: BoardEntry, parked: NonNullable<BoardEntry['parked']>): void;
  /** It is worked on again, or has ended. */
  unpark(entry: BoardEntry): void;
  /** Those that are worked on. */
  live(): readonly BoardEntry[];
  tell(run: string, what: (listener: BoardListener) => void): void;
  /** This process lets go of all of them, also of those that it has not begun to work on: whoever waits hears so. */
  close(): Promise<void>;
  /** Forgets a run that has ended, unless somebody has taken it up again. */
  forget(run: string): void;
}

export function createRunBoard(): RunBoard {
  const entries = new Map<string, BoardEntry>();
  let parked = 0;
  const unpark = (entry: BoardEntry) => {
    if (entry.parked === undefined) return;
    entry.parked.unwatch?.();
    entry.parked = undefined;
    parked--;
  };
  return {
    entry(run) {
      const known = entries.get(run);
      if (known !== undefined) return known;
      const made: BoardEntry = { run, listeners: new Set(), claims: new Set() };
      entries.set(run, made);
      return made;
    },
    find: (run) => entries.get(run),
    parked: () => parked,
    park(entry, as) {
      if (entry.parked === undefined) parked++;
      entry.parked = as;
    },
    unpark,
    live: () => [...entries.values()].filter(({ live }) => live !== undefined),
    tell(run, what) {
      for (const listener of [...(entries.get(run)?.listeners ?? [])]) what(listener);
    },
    async close() {
      for (const { run, listeners } of entries.values())
        for (const listener of [...listeners]) listener.onEnd({ run, status: 'interrupted' });
      await Promise.all([...entries.values()].map(({ fresh }) => fresh?.writer.release()));
    },
    forget(run) {
      const entry = entries.get(run);
      if (entry === undefined || entry.fresh !== undefined) return;
      unpark(entry);
      entries.delete(run);
    },
  };
}

/**
 * Makes a run that somebody asked for, unless its workflow is busy. One that is there is not asked for again: its making
 * says so.
 */
export async function makeInTurn(
  deps: RunsDeps & { readonly turns: Turns },
  gate: HandGate | undefined,
  run: NewRun,
): Promise<HeldRun> {
  if (gate === undefined || (await isThere(deps, run.id))) return createRun(deps, run);
  await deps.turns.ask(gate, run.id, run.origin.session?.id);
  deps.crashPoint?.('hand:asked');
  try {
    return await createRun(deps, run);
  } catch (thrown) {
    // One that is there has its turn, or loses it with its end.
    if (toRuntimeError(thrown).code !== 'stream_exists')
      await deps.turns.leave(gate, run.id).catch(deps.onError);
    throw thrown;
  }
}

async function isThere({ store }: Pick<RunsDeps, 'store'>, run: string): Promise<boolean> {
  const info = await store.info(run);
  return info !== undefined && info.head > 0;
}
