import type { RunJournal } from '../../engine/run-journal.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Json } from '../../kernel/json.ts';
import { RunAhead } from '../../kernel/run-ahead.ts';
import type { ErrorJson } from '../../kernel/runtime-error.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import type { Decisions } from '../decisions.ts';
import type { Leaves } from '../leaf.ts';
import type { Scope } from '../scope.ts';
import { createBranch } from './branch.ts';
import { interrupted } from './failures.ts';
import { HELD_WAIT_MS } from './limits.ts';
import { createOccupancy, type Waits } from './occupancy.ts';
import { endOnLog, type ListOutcome } from './outcome.ts';
import { runList } from './run-list.ts';
import { runStates } from './run-states.ts';
import { undo } from './undo.ts';
import { LET_GO, notBegun, type Place, type Walk } from './walk.ts';

/** How a walk ended. Whoever owns the run puts the ends of runs on its log; the machine writes only of steps and states. */
export type MachineEnd =
  | { readonly kind: 'completed'; readonly output: Json }
  | { readonly kind: 'failed'; readonly error: ErrorJson; readonly step?: string }
  | { readonly kind: 'cancelled'; readonly reason: string }
  /** Nothing is to be done before a time or a message: walk again then. */
  | ({ readonly kind: 'parked' } & Waits)
  /** Let go of, as `signal` asked: walk again from the log. */
  | { readonly kind: 'stopped' };

export interface MachineOptions {
  readonly workflow: WorkflowManifest;
  readonly journal: RunJournal;
  readonly leaves: Leaves;
  readonly decisions: Decisions;
  /** For the list of a `foreach`. */
  readonly scope: Scope;
  readonly clock: Clock;
  /** From 0 to below 1: spreads retries. */
  readonly random: () => number;
  /** Lets go of the run: what runs is aborted and waited for, and nothing more is written. */
  readonly signal: AbortSignal;
  /** Cancels the run: what runs is aborted, waited for and recorded; what has completed is undone. Its reason is said. */
  readonly cancel?: AbortSignal;
  /**
   * Called when all that is in hand only waits: `release` (also where it is absent) ends the walk, `hold` stays, until
   * the function that it was given is called, which must not be once the run has gone on.
   */
  readonly onParked?: (waits: Waits, letGoLater: () => void) => 'release' | 'hold';
}

/**
 * Walks a workflow from its beginning with the log as its memory: what has an end there is not done again. Rejects
 * where the log cannot be written; failures of steps are ends.
 */
export async function runMachine(options: MachineOptions): Promise<MachineEnd> {
  const { workflow, journal, signal, cancel, clock } = options;
  const { state } = journal;
  if (signal.aborted) return { kind: 'stopped' };
  const root = createBranch();
  const released = createBranch();
  let crashed: { readonly thrown: unknown } | undefined;
  let fatal: ErrorJson | undefined;
  let parked: Waits | undefined;
  const open = new Set<string>();
  for (const known of state.steps.values()) if (endOnLog(known) === undefined) open.add(known.step);

  const letGo = (reason: string) => {
    released.stop(reason);
    root.stop(reason);
  };
  const walk: Walk = {
    workflow,
    state,
    journal,
    clock,
    leaves: options.leaves,
    decisions: options.decisions,
    scope: options.scope,
    random: options.random,
    ahead: new RunAhead(),
    occupancy: createOccupancy((waits) => {
      if (root.stopped !== undefined) return;
      if (waits.due !== undefined && waits.due - clock.now() <= HELD_WAIT_MS) return;
      const release = () => {
        if (root.stopped !== undefined) return;
        parked = waits;
        letGo('the run waits');
      };
      if (options.onParked?.(waits, release) !== 'hold') release();
    }),
    get letGo() {
      return released.stopped !== undefined;
    },
    write(body, cause) {
      if (released.stopped !== undefined) throw LET_GO;
      return journal.append(body, cause);
    },
    fail(error) {
      fatal ??= error;
      root.stop(error.message);
    },
    crash(thrown) {
      if (thrown !== LET_GO) crashed ??= { thrown };
      letGo('the run cannot go on');
    },
    sweep(address, reason) {
      for (const step of [...open].reverse()) {
        if (address !== '' && !isInside(step, address)) continue;
        open.delete(step);
        const known = state.steps.get(step);
        if (known !== undefined && endOnLog(known) === undefined)
          walk.write({ type: 'step.cancelled', step, reason }, known.cause);
      }
    },
    list: (steps, place) => runList(walk, steps, place),
  };

  const onSignal = () => letGo('the run is let go of');
  const onCancel = () => root.stop(reasonOf(cancel));
  signal.addEventListener('abort', onSignal, { once: true });
  cancel?.addEventListener('abort', onCancel, { once: true });
  if (cancel?.aborted) onCancel();
  try {
    const failing = state.change?.fails;
    if (failing !== undefined) walk.fail(interrupted(failing).toJSON());
    const end = toEnd(await walkThrough(walk, workflow, root), fatal);
    if (walk.letGo) throw LET_GO;
    if (end.kind === 'completed') walk.sweep('', 'the run completed without it');
    if (end.kind === 'failed' || end.kind === 'cancelled') {
      walk.sweep('', end.kind === 'failed' ? 'the run failed' : end.reason);
      await undo(walk, workflow, released);
    }
    return end;
  } catch (thrown) {
    if (crashed !== undefined) throw crashed.thrown;
    if (thrown !== LET_GO) throw thrown;
    return parked === undefined ? { kind: 'stopped' } : { kind: 'parked', ...parked };
  } finally {
    signal.removeEventListener('abort', onSignal);
    cancel?.removeEventListener('abort', onCancel);
  }
}

function walkThrough(walk: Walk, workflow: WorkflowManifest, branch: Place['branch']): Promise<ListOutcome> {
  if (branch.stopped !== undefined) return Promise.resolve(notBegun(branch));
  const place: Place = { prefix: '', locals: {}, branch, depth: 0, cause: undefined, visit: undefined };
  return workflow.states === undefined
    ? walk.list(workflow.steps ?? [], place)
    : runStates(walk, workflow, workflow.states, place);
}

function toEnd(outcome: ListOutcome, fatal: ErrorJson | undefined): MachineEnd {
  if (fatal !== undefined) return { kind: 'failed', error: fatal };
  switch (outcome.kind) {
    case 'completed':
      return { kind: 'completed', output: outcome.output };
    case 'failed': {
      const { error, step } = outcome;
      return { kind: 'failed', error, ...(step === undefined ? {} : { step }) };
    }
    case 'cancelled':
      return { kind: 'cancelled', reason: outcome.reason };
  }
}

/** `par/build`, `each[2]/build` and `par!2/build` are inside of `par` and `each`; `par2` is not. */
const isInside = (step: string, address: string): boolean =>
  step.startsWith(address) && '/[#!'.includes(step[address.length] ?? ' ');

function reasonOf(cancel: AbortSignal | undefined): string {
  const reason: unknown = cancel?.reason;
  if (typeof reason === 'string') return reason;
  return reason instanceof Error && reason.name !== 'AbortError' ? reason.message : 'cancelled';
}
