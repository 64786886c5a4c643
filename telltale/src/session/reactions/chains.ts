import type { SessionEvent } from '../../events/event.ts';
import { WORKFLOW_WRITER } from '../../events/fold-values.ts';
import type { StartedRun } from '../../events/reaction-state.ts';

type Chain = readonly string[];

/** Events of chains that are remembered: what follows from one follows soon. */
const MAX_REMEMBERED = 10_000;

const NO_CHAIN: Chain = [];

/** The workflows that led to an event by setting each other off. */
export interface Chains {
  of(event: SessionEvent): Chain;
  /** The next event on the log, whatever it is caused by. */
  note(seq: number, chain: Chain): void;
  started(run: string, chain: Chain): void;
  ended(run: string): void;
}

/** `runs` are those that are under way already. */
export function createChains(runs: readonly StartedRun[]): Chains {
  const byRun = new Map<string, Chain>(runs.map(({ run, chain }) => [run, chain]));
  const bySeq = new Map<number, Chain>();
  const note = (seq: number, chain: Chain) => {
    bySeq.set(seq, chain);
    if (bySeq.size <= MAX_REMEMBERED) return;
    for (const oldest of bySeq.keys()) {
      bySeq.delete(oldest);
      break;
    }
  };
  const find = (event: SessionEvent): Chain => {
    const { cause, session } = event;
    const own = bySeq.get(event.seq);
    if (own !== undefined) return own;
    if ('run' in event && event.run !== undefined) return byRun.get(event.run) ?? writerOf(event);
    if (cause.stream !== session) return byRun.get(cause.stream) ?? writerOf(event);
    return bySeq.get(cause.seq) ?? NO_CHAIN;
  };
  return {
    of(event) {
      const chain = find(event);
      if (chain.length > 0 && !bySeq.has(event.seq)) note(event.seq, chain);
      return chain;
    },
    note,
    started(run, chain) {
      byRun.set(run, chain);
    },
    ended(run) {
      byRun.delete(run);
    },
  };
}

/** The workflow of a run that no trigger started: an action called it. */
function writerOf(event: SessionEvent): Chain {
  if ('workflow' in event) return [event.workflow];
  if (!('by' in event) || !event.by.startsWith(WORKFLOW_WRITER)) return NO_CHAIN;
  return [event.by.slice(WORKFLOW_WRITER.length)];
}
