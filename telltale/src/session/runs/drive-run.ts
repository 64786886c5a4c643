import type { RuntimeError } from '../../kernel/runtime-error.ts';
import type { MachineEnd } from '../../workflows/machine/run-machine.ts';
import type { HeldRun } from './open-run.ts';
import type { Realm } from './realm.ts';
import type { BoardEntry } from './run-board.ts';

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
