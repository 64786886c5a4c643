import type { Cause } from '../events/event.ts';
import type { SessionState } from '../events/state.ts';
import type { RuntimeError } from '../kernel/runtime-error.ts';
import { type Bell, createBell } from './bell.ts';
import type { SchedulerEdges } from './edges.ts';
import { createFifo, type Fifo } from './fifo.ts';
import { createGraph, type Graph } from './graph.ts';
import type { NameSpace } from './names.ts';
import type { Run } from './run.ts';
import type { SchedulerOptions } from './scheduler.ts';

/**
 * `failing`: an action with `on_error: fail` has failed, and only what undoes others may start. `closed`: nothing may.
 * `lost`: nothing may even be recorded.
 */
export type Life = 'open' | 'failing' | 'closed' | 'lost';

/** All that a scheduler consists of. The files beside this one are its verbs. */
export interface Works {
  readonly options: SchedulerOptions;
  readonly edges: SchedulerEdges;
  readonly state: SessionState;
  readonly graph: Graph;
  readonly names: NameSpace;
  /** What has not ended. */
  readonly runs: Map<string, Run>;
  /** Made for the first. */
  openLoops: Set<Run> | undefined;
  /** Ready, and waiting for a place. */
  readonly queue: Fifo<Run>;
  /** Ready, and in need of none. */
  readonly free: Fifo<Run>;
  /** Places left of `parallel_actions`. */
  places: number;
  readonly bell: Bell;
  /** Ids in the order of completion. */
  readonly completed: string[];
  life: Life;
  /** Why it is not open any more. */
  shutReason: string;
  /** Who wants to know when nothing runs any more after the log was lost. */
  idle: Set<() => void> | undefined;
  /** The rollback in hand: the next one comes after it. */
  undoing: Promise<unknown>;
  /** The number of the last `<foreach>`. */
  loopsMade: number;
  /** Starts what may start, then tells of ends. */
  readonly goOn: () => void;
  /** An action with `on_error: fail` has failed for good. */
  readonly fatal: (id: string, error: RuntimeError, cause: Cause | undefined) => void;
}

export function createWorks(
  options: SchedulerOptions,
  edges: SchedulerEdges,
  { goOn, fatal, coming }: Pick<Works, 'goOn' | 'fatal'> & Pick<NameSpace, 'coming'>,
): Works {
  const { state } = options;
  const graph = createGraph();
  return {
    options,
    edges,
    state,
    graph,
    names: {
      state,
      graph,
      lookup: (name) => edges.lookup(name),
      coming,
      keys: undefined,
      loops: undefined,
    },
    runs: new Map(),
    openLoops: undefined,
    queue: createFifo(),
    free: createFifo(),
    places: options.parallelActions,
    bell: createBell((id) => {
      if (graph.gates?.has(id) !== true) options.onEnded?.(id);
    }),
    completed: [],
    life: 'open',
    shutReason: '',
    idle: undefined,
    undoing: Promise.resolve(),
    loopsMade: 0,
    goOn,
    fatal,
  };
}
