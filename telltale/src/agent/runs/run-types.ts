import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { ErrorJson } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { usageOf } from '../../log/event.ts';
import type { RunEvent } from '../../log/run-event.ts';
import type { AcceptChanges, RunState, RunStatus, WorkflowChanges } from '../../log/run-state.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import type { LoadedAgent } from '../loaded-agent.ts';

export const isOver = (status: RunStatus): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled';

export function resultOf(state: RunState): RunResult {
  const { id, status, output, error, waiting } = state;
  const used = usedBy(state);
  return {
    run: id,
    status: status === 'running' ? 'interrupted' : status,
    ...(output === undefined ? {} : { output }),
    ...(error === undefined ? {} : { error }),
    ...(waiting === undefined ? {} : { waiting }),
    ...(used === undefined ? {} : { used }),
  };
}

function usedBy({ usage, charged }: RunState): RunUsage | undefined {
  const { input, output, cost_usd } = usage;
  return input + output + cost_usd + charged === 0 ? undefined : { ...usageOf(usage), cost_usd, charged };
}

/** A workflow that can be run with the tools, models and permissions of an agent. Its runs take `Input`. */
export interface LoadedWorkflow<Input = JsonObject> {
  readonly manifest: WorkflowManifest;
  readonly agent: LoadedAgent<unknown>;
  /** The schema that checks the input, if a program passed one of a schema library. */
  readonly input?: StandardSchemaV1<Input>;
}

export interface RunOptions<Input = JsonObject> {
  readonly input?: Input;
  /** Values for the workflow's variables instead of their defaults. */
  readonly vars?: JsonObject;
  readonly id?: string;
  /** Aborting it cancels the run. */
  readonly signal?: AbortSignal;
  /**
   * What `result` does when the run is suspended. `release` (the default): it resolves with status `waiting`,
   * and the run is released. `hold`: it waits for the end. A run that waits for its turn is always waited
   * for.
   */
  readonly onWaiting?: 'release' | 'hold';
  /** Only creates the run, for any process to work on. Its result is `interrupted` once it is on the log. */
  readonly queued?: boolean;
}

export interface ResumeRunOptions {
  /** Needed if parts of the agent are written in code. Otherwise the manifest is read again. */
  readonly workflow?: LoadedWorkflow<unknown>;
  /**
   * Continues with the current definition of the workflow. Ambiguous steps have to be decided. `changes`
   * previews the effect.
   */
  readonly acceptChanges?: AcceptChanges;
  /** Who resumes the run and accepts the changes, for the log. The defaults are `runtime` and `program`. */
  readonly by?: string;
  readonly onWaiting?: 'release' | 'hold';
  readonly signal?: AbortSignal;
}

export interface RunResult {
  readonly run: string;
  /** `interrupted`: this process released the run. It can be resumed. */
  readonly status: Exclude<RunStatus, 'running'> | 'interrupted';
  readonly output?: Json;
  readonly error?: ErrorJson;
  readonly waiting?: { readonly for: string; readonly due?: number };
  /** Usage so far, including called runs and agents. Absent if there is none. */
  readonly used?: RunUsage;
}

export interface RunUsage {
  /** Tokens. */
  readonly input: number;
  readonly output: number;
  /** true if part of the tokens is an estimate, because a provider reported none. */
  readonly estimated?: true;
  readonly cost_usd: number;
  /** What questions to artifacts took from the balance. */
  readonly charged: number;
}

/** One run of a workflow. */
export interface WorkflowRun {
  readonly id: string;
  readonly result: Promise<RunResult>;
  /** Every committed event from the first one. Ends with the run. */
  readonly events: AsyncIterable<RunEvent>;
  subscribe(listener: (event: RunEvent) => void): () => void;
  cancel(reason?: string): Promise<void>;
  /** Stops at once and releases the run, so that it can be resumed. */
  interrupt(): Promise<void>;
}

/** What a trigger without a session did. */
export type OutsideOutcome =
  | { readonly kind: 'started'; readonly run: string }
  /** The run starts later, because of `delay`, `debounce` or another run. */
  | { readonly kind: 'waiting' }
  /** `missed`: no process was running at that time, and the run is not made up for. */
  | { readonly kind: 'suppressed'; readonly reason: 'cooldown' | 'busy' | 'missed' }
  /** The same delivery came before and started `run`, if anything. This time it starts nothing. */
  | { readonly kind: 'replayed'; readonly run?: string };

/** A time of a schedule that has come. */
export interface DueTime {
  readonly due: number;
  /** How many earlier times were missed and are not made up for, at most 1,000. */
  readonly missed: number;
}

export interface ListenOptions {
  /** Called for each time that a schedule was due. */
  readonly onDue?: (trigger: string, outcome: OutsideOutcome, due: DueTime) => void;
  /**
   * Called with errors of a schedule, which is retried if that may help. Without it such errors are uncaught.
   */
  readonly onError?: (thrown: unknown) => void;
}

/** The headers of a request, with names in lower case. */
export type HookHeaders = Readonly<Record<string, string | undefined>>;

/** Starts an agent's workflows by their schedules and webhooks until it is closed. */
export interface Listening {
  /** The names after `/hooks/` that its workflows handle. */
  readonly hooks: readonly string[];
  /**
   * Handles a request to `/hooks/NAME`: the raw body and the headers. Resolves once the run is on its log. A
   * delivery that was accepted before starts nothing and is `replayed`. Rejects with `hook_unknown`,
   * `bad_signature`, `hook_stale` (more than 5 minutes off), `hook_replayed` (the same id with another body)
   * or `hook_too_large`, and then starts nothing.
   */
  deliver(hook: string, body: string | Uint8Array, headers: HookHeaders): Promise<OutsideOutcome>;
  close(): void;
}

/** Runs of workflows that a program starts. Runs that agents trigger or call need no handling. */
export interface Workflows {
  start<Input>(workflow: LoadedWorkflow<Input>, options?: RunOptions<NoInfer<Input>>): WorkflowRun;
  /** Takes over a run and continues it. Refused while another process works on it. */
  resume(run: string, options?: ResumeRunOptions): Promise<WorkflowRun>;
  /** Previews what the current definition of the workflow means for a run. Writes nothing. */
  changes(
    run: string,
    options?: Pick<ResumeRunOptions, 'workflow' | 'acceptChanges' | 'signal'>,
  ): Promise<WorkflowChanges>;
  /** Has a waiting run checked again, because something arrived for a run or agent that it called. */
  wake(run: string): void;
  /** @deprecated Use `wake`. This name goes with the next release. */
  goOn(run: string): void;
  /** Cancels a run through its inbox, from any process. */
  cancel(run: string, reason?: string, from?: string): Promise<void>;
  /** Sends an event to a `wait` step. An event that arrives early is kept. */
  signal(run: string, event: string, data?: JsonObject, from?: string): Promise<void>;
  events(
    run: string,
    from?: number,
    options?: { readonly signal?: AbortSignal },
  ): Promise<readonly RunEvent[]>;
  /**
   * The state after all committed events, or after `seq`. Rejects with `event_unknown` if the log has no such
   * event.
   */
  state(run: string, seq?: number, options?: { readonly signal?: AbortSignal }): Promise<RunState>;
  /** Starts an agent's workflows by their schedules and webhooks until it is closed. */
  listen(agent: LoadedAgent<unknown>, options?: ListenOptions): Listening;
  /** Resumes every run whose process stopped, except those in `except`, and returns their ids. */
  recover(except?: ReadonlySet<string>): Promise<readonly string[]>;
  /** Resolves once every run that this process works on has ended or is suspended. */
  idle(): Promise<void>;
  /** Ids of the runs that this process works on. */
  active(): readonly string[];
  /** @deprecated Use `active`. This name goes with the next release. */
  under(): readonly string[];
}

/** The workflows of an agent by name: its imports in order, then those in its own file. */
export function workflowsOf({
  manifest,
  project,
}: Pick<LoadedAgent<unknown>, 'manifest' | 'project'>): ReadonlyMap<string, WorkflowManifest> {
  const found = new Map<string, WorkflowManifest>();
  const own = project.manifests.find(({ kind, name }) => kind === 'Agent' && name === manifest.name);
  if (own === undefined) return found;
  const imported = own.imports.flatMap((entry) =>
    entry.type === 'files' && entry.list === 'workflows' ? entry.manifests : [],
  );
  const byId = new Map(project.manifests.map((each) => [each.id, each]));
  const beside = project.manifests.filter(({ file }) => file === own.file);
  for (const each of [...imported.flatMap((id) => byId.get(id) ?? []), ...beside])
    if (each.manifest.kind === 'Workflow') found.set(each.name, each.manifest);
  return found;
}

/** Whether people and actions may start the workflow: it has a manual trigger, or none at all. */
export function isManual({ trigger, triggers = [] }: WorkflowManifest): boolean {
  const all = trigger === undefined ? triggers : [trigger];
  return all.length === 0 || all.some(({ type }) => type === 'manual');
}

/** The group of a run for fair scheduling: its session, or the run that called it, or the run itself. */
export const groupOfRun = ({ id, origin: { session, parent } }: Pick<RunState, 'id' | 'origin'>): string =>
  session?.id ?? parent?.run ?? id;
