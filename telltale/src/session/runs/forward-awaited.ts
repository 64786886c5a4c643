import type { SessionEvent } from '../../events/event.ts';
import type { JsonObject } from '../../kernel/json.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import type { Store } from '../../store/store.ts';
import type { SessionLog } from '../session-log.ts';
import { awaitedTypes, calledBy } from './awaited-types.ts';
import type { Runs } from './create-runs.ts';

/** A run of the session that triggers started or an action calls, and has not ended. */
export interface ForwardedTo {
  readonly run: string;
  readonly workflow: string;
}

export interface ForwardDeps {
  readonly workflows: ReadonlyMap<string, WorkflowManifest>;
  readonly log: Pick<SessionLog, 'state' | 'react' | 'committed'>;
  readonly runs: Pick<Runs, 'pass'>;
  readonly store: Pick<Store, 'list'>;
  /** Those that there are, or will be once their streams are made. */
  readonly open: () => readonly ForwardedTo[];
  /** Does it once the stream of the run is there, if it ever is. */
  readonly whenThere: (run: string, then: () => Promise<void>) => void;
}

const ALIVE = ['running', 'waiting'];

/** Passes on events of the session that steps of its runs wait for, and steps of those that they call. */
export function forwardAwaited({ workflows, log, runs, store, open, whenThere }: ForwardDeps): void {
  const own = new Map<string, ReadonlySet<string>>();
  const all = new Map<string, ReadonlySet<string>>();
  for (const [name, workflow] of workflows) {
    own.set(name, awaitedTypes(workflow, NO_OTHERS));
    all.set(name, awaitedTypes(workflow, workflows));
  }
  if (![...all.values()].some(({ size }) => size > 0)) return;
  const { state } = log;
  const pass = async (to: ForwardedTo, event: SessionEvent, data: JsonObject): Promise<void> => {
    const { run, workflow } = to;
    const isOwn = 'run' in event && event.run === run;
    const mine = own.get(workflow)?.has(event.type) === true;
    if (mine && !isOwn) await runs.pass(run, event.type, data, state.id);
    if (!callsOneThatAwaits(workflow, event.type)) return;
    for (const below of await store.list({ kind: 'run', parent: run, status: ALIVE }))
      await pass({ run: below.stream, workflow: below.name }, event, data);
  };
  const callsOneThatAwaits = (workflow: string, type: string): boolean => {
    const manifest = workflows.get(workflow);
    if (manifest === undefined || all.get(workflow)?.has(type) !== true) return false;
    return calledBy(manifest).some((name) => all.get(name)?.has(type) === true);
  };
  log.react((event) => {
    const waiting = open().filter(({ workflow }) => all.get(workflow)?.has(event.type) === true);
    if (waiting.length === 0) return;
    log.committed(event.seq, (error) => {
      if (error !== undefined) return;
      const data = JSON.parse(JSON.stringify(event)) as JsonObject;
      for (const to of waiting) whenThere(to.run, () => pass(to, event, data));
    });
  });
}

const NO_OTHERS: ReadonlyMap<string, WorkflowManifest> = new Map();
