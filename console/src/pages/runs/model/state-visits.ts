import type { RunEvent } from '../../../../../telltale/src/log/run-event.ts';

export interface StateVisit {
  readonly state: string;
  readonly visit: number;
  readonly by: string;
  readonly seq: number;
  readonly from: number;
  /** Undefined while the run is in it. */
  readonly to?: number;
}

const ENDS: ReadonlySet<string> = new Set(['workflow.completed', 'workflow.failed', 'workflow.cancelled']);

/** The states that a state machine was in, and for how long. */
export function stateVisits(events: readonly RunEvent[], upTo: number): readonly StateVisit[] {
  const visits: StateVisit[] = [];
  const leave = (at: number) => {
    const last = visits.at(-1);
    if (last !== undefined && last.to === undefined) visits[visits.length - 1] = { ...last, to: at };
  };
  for (const event of events) {
    if (event.seq > upTo) break;
    if (ENDS.has(event.type)) leave(event.at);
    if (event.type !== 'state.entered') continue;
    leave(event.at);
    const { state, visit, by, seq, at } = event;
    visits.push({ state, visit, by, seq, from: at });
  }
  return visits;
}
