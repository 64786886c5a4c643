import type { RunJournal } from '../../engine/run-log.ts';
import { type RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import type { WalkEnd } from '../../workflows/machine/run-machine.ts';
import type { ManualLimit } from '../triggers/concurrency-limit.ts';
import type { RunQueue } from '../triggers/run-queue.ts';
import { createRun, type HeldRun } from './open-run.ts';
import type { NewRun, RunAgentSource, RunEnvironment, RunsDeps } from './run-environment.ts';
import type { RunInbox } from './run-inbox.ts';
import type { RunResult } from './run-types.ts';

export interface RunWalkOptions {
  readonly held: HeldRun;
  readonly environment: RunEnvironment;
  readonly entry: RunEntry;
}

/** How a walk through a workflow ended, and who cancelled it. */
export type RunWalkEnd =
  | Exclude<WalkEnd, { readonly kind: 'cancelled' }>
  | { readonly kind: 'cancelled'; readonly reason: string; readonly by: string };

/** One walk through a workflow, from its beginning or from where the log ends. */
export interface RunWalk {
  /** Starts the walk. Call it once. */
  run(): Promise<RunWalkEnd>;
  cancel(reason: string, by: string): void;
  /** The last event that its steps have seen. A later event needs another walk. */
  seen(): number;
  /** Stops at once and writes nothing more. */
  release(error?: RuntimeError): void;
}

/** Creates a walk. The modules for it are loaded with the first run. */
export type CreateRunWalk = (call: RunWalkOptions) => Promise<RunWalk>;

/** What this process knows about a run that it works on or watches. */
export interface RunEntry {
  readonly run: string;
  /** The agent whose tools and permissions the run uses, if this process knows it. */
  agentSource?: RunAgentSource | undefined;
  /** Whether the agent was read from its manifest, and can be read again. */
  isSourceRead?: boolean;
  /** Its stream, if this process created it and no work on it has started. */
  fresh?: HeldRun | undefined;
  /** Who resumed it. The next `workflow.resumed` names them. */
  resumedBy?: string | undefined;
  /** Whether it is kept open for a while when it waits for its MCP client. */
  lingers?: boolean;
  /** Cancels it. Set while it is worked on. */
  cancel?: ((reason: string, by: string) => void) | undefined;
  /** Stops working on it at once. Set while it is worked on. */
  release?: (() => void) | undefined;
  /** Its journal, and how other parts of this process send it messages. Set while it is worked on. */
  live?: { readonly journal: RunJournal; readonly take: RunInbox['take'] } | undefined;
  /**
   * Called as soon as a message from the client is in the log's queue, before its commit, and when the guided
   * session is resumed in this process.
   */
  readonly wakeListeners: Set<() => void>;
  /**
   * Set while it is suspended and this process would resume it: the last event it has seen, and how to stop
   * watching its stream.
   */
  suspended?: { readonly seq: number; readonly unwatch?: () => void } | undefined;
  /** Whether another process owned it at the last attempt. */
  wasOwned?: boolean;
  /** Whether this process wants it resumed, whatever its log says. */
  isRequested?: boolean;
  /** Whether it was resumed explicitly or by its caller, which ends a quarantine. */
  liftsQuarantine?: boolean;
  readonly listeners: Set<RunListener>;
}

export interface RunListener {
  /** The run has ended, or this process has released it. */
  onEnd(result: RunResult): void;
  /** The run has nothing to do until that time, or until a message arrives. */
  onWaiting?(waiting: { readonly for: string; readonly due?: number }): void;
  /** Work on the run continues. */
  onWork?(): void;
  /** Another process works on the run. A listener that stays registered waits for that process. */
  onOwned?(error: unknown): void;
  /** This process cannot work on the run. */
  onError(error: unknown): void;
}

/** The runs of this process. Nothing in it has to survive a restart. */
export interface RunRegistry {
  entry(run: string): RunEntry;
  find(run: string): RunEntry | undefined;
  /** The number of suspended runs that are watched or about to be. */
  suspended(): number;
  suspend(entry: RunEntry, suspended: NonNullable<RunEntry['suspended']>): void;
  /** Stops watching a run that is worked on again or has ended. */
  resume(entry: RunEntry): void;
  /** The runs that are being worked on. */
  live(): readonly RunEntry[];
  notify(run: string, what: (listener: RunListener) => void): void;
  /** Releases all runs, including those whose work has not started, and notifies their listeners. */
  close(): Promise<void>;
  /** Forgets a run that has ended, unless its stream was acquired again. */
  forget(run: string): void;
}

export function createRunRegistry(): RunRegistry {
  const entries = new Map<string, RunEntry>();
  let suspended = 0;
  const resume = (entry: RunEntry) => {
    if (entry.suspended === undefined) return;
    entry.suspended.unwatch?.();
    entry.suspended = undefined;
    suspended--;
  };
  return {
    entry(run) {
      const known = entries.get(run);
      if (known !== undefined) return known;
      const made: RunEntry = { run, listeners: new Set(), wakeListeners: new Set() };
      entries.set(run, made);
      return made;
    },
    find: (run) => entries.get(run),
    suspended: () => suspended,
    suspend(entry, as) {
      if (entry.suspended === undefined) suspended++;
      entry.suspended = as;
    },
    resume,
    live: () => [...entries.values()].filter(({ live }) => live !== undefined),
    notify(run, what) {
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
      resume(entry);
      entries.delete(run);
    },
  };
}

/**
 * Creates a run that a caller requested, unless its workflow is busy. A run that exists is not queued again:
 * creating it fails.
 */
export async function createQueuedRun(
  deps: RunsDeps & { readonly runQueue: RunQueue },
  limit: ManualLimit | undefined,
  run: NewRun,
): Promise<HeldRun> {
  if (limit === undefined || (await isThere(deps, run.id))) return createRun(deps, run);
  await deps.runQueue.reserve(limit, run.id, run.origin.session?.id);
  deps.crashPoint?.('hand:asked');
  try {
    return await createRun(deps, run);
  } catch (thrown) {
    // A run that exists keeps its place in the queue until it ends.
    if (toRuntimeError(thrown).code !== 'stream_exists')
      await deps.runQueue.leave(limit, run.id).catch(deps.onError);
    throw thrown;
  }
}

async function isThere({ store }: Pick<RunsDeps, 'store'>, run: string): Promise<boolean> {
  const info = await store.info(run);
  return info !== undefined && info.head > 0;
}
