import type { RunState } from '../../events/run-state.ts';
import { timeText } from './figures.ts';
import { quarantineJson, type ShownStatus } from './status.ts';

/** A run's state for a script: what stays the same from version to version of the runtime. */
export function runJson(state: RunState, { status, pid, quarantine }: Omit<ShownStatus, 'paint'>) {
  return {
    run: state.id,
    workflow: state.workflow,
    manifest: state.manifest,
    status,
    pid: pid ?? null,
    ...quarantineJson(quarantine),
    waiting: state.waiting ?? null,
    origin: state.origin,
    input: state.input,
    started: timeText(state.startedAt),
    updated: timeText(state.at),
    seq: state.seq,
    state: state.state ?? null,
    visited: state.visited,
    steps: [...state.steps.values()],
    outputs: Object.fromEntries(state.outputs),
    variables: Object.fromEntries(state.variables),
    reviews: state.reviews,
    usage: state.usage,
    balance: state.balance ?? null,
    output: state.output ?? null,
    error: state.error ?? null,
  };
}
