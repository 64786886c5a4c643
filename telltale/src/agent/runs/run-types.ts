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

/** A workflow that can be run: in the name of an agent, with its tools, models and permissions. Its runs take `Input`. */
export interface LoadedWorkflow<Input = JsonObject> {
  readonly manifest: WorkflowManifest;
  readonly agent: LoadedAgent<unknown>;
  /** The schema of a library's own that its input is held against, where a program gave one. */
  readonly input?: StandardSchemaV1<Input>;
}

export interface RunOptions<Input = JsonObject> {
  readonly input?: Input;
  /** In place of the workflow's own variables' defaults. */
  readonly vars?: JsonObject;
  readonly id?: string;
  /** Cancels the run when it is aborted. */
  readonly signal?: AbortSignal;
  /**
   * `release` (default): a run that only waits is let go of, and `result` says so. `hold`: it is waited for. One that
   * waits for its turn is waited for in any case.
   */
  readonly onWaiting?: 'release' | 'hold';
  /** Only written down: it is worked on by whoever takes it up. Its result is then `interrupted`, once it is on the log. */
  readonly queued?: boolean;
}

export interface ResumeRunOptions {
  /** Needed where parts of the agent were written in code; else the manifest is read again. */
  readonly workflow?: LoadedWorkflow<unknown>;
  /** Goes on with the workflow as it is now. What is in doubt has to be decided; `changes` says what it would mean. */
  readonly acceptChanges?: AcceptChanges;
  /** Who asks for it and accepts the changes, for the log. Without it, `runtime` asks and `program` accepts. */
  readonly by?: string;
  readonly onWaiting?: 'release' | 'hold';
  readonly signal?: AbortSignal;
}

export interface RunResult {
  readonly run: string;
  /** `interrupted`: this process let go of it; it can be resumed. */
  readonly status: Exclude<RunStatus, 'running'> | 'interrupted';
  readonly output?: Json;
  readonly error?: ErrorJson;
  readonly waiting?: { readonly for: string; readonly due?: number };
  /** What it used so far, with the runs and agents that it called; absent where that is nothing. */
  readonly used?: RunUsage;
}

export interface RunUsage {
  /** Tokens. */
  readonly input: number;
  readonly output: number;
  /** true where a part of these was counted here, since a provider gave no figures. */
  readonly estimated?: true;
  readonly cost_usd: number;
  /** What asking artifacts took from the balance. */
  readonly charged: number;
}

/** One run of a workflow. */
export interface WorkflowRun {
  readonly id: string;
  readonly result: Promise<RunResult>;
  /** Every event from the first on, after its commit. Ends with the run. */
  readonly events: AsyncIterable<RunEvent>;
  subscribe(listener: (event: RunEvent) => void): () => void;
  cancel(reason?: string): Promise<void>;
  /** Stops at once and lets go of the stream, so that it can be resumed. */
  interrupt(): Promise<void>;
}

/** What a trigger outside of sessions came to. */
export type OutsideOutcome =
  | { readonly kind: 'started'; readonly run: string }
  /** It starts later: its `delay`, its `debounce`, or a run that goes first. */
  | { readonly kind: 'waiting' }
  /** `missed`: nobody ran at its time, and it is not made up for. */
  | { readonly kind: 'suppressed'; readonly reason: 'cooldown' | 'busy' | 'missed' }
  /** It came before, and started `run` if anything: this time it starts nothing. */
  | { readonly kind: 'replayed'; readonly run?: string };

/** A time that was due. */
export interface DueTime {
  readonly due: number;
  /** How many times before it nobody ran at and none is made up for; 1,000 at most are counted. */
  readonly missed: number;
}

export interface ListenOptions {
  /** Told of each time that a schedule was due. */
  readonly onDue?: (trigger: string, outcome: OutsideOutcome, due: DueTime) => void;
  /** Told where a schedule cannot be kept; it is tried again where that may help. What is not told here is uncaught. */
  readonly onError?: (thrown: unknown) => void;
}

/** Of a request, with names in lower case. */
export type HookHeaders = Readonly<Record<string, string | undefined>>;

/** An agent whose workflows are started by time and by hooks, for as long as this is open. */
export interface Listening {
  /** The names after `/hooks/` that its workflows listen to. */
  readonly hooks: readonly string[];
  /**
   * Takes what was posted to `/hooks/NAME`: the body as it came, and its headers. Resolves once the run is on its log.
   * What was taken before starts nothing and is `replayed`. Rejects with `hook_unknown`, `bad_signature`, `hook_stale`
   * (its time is more than 5 minutes off), `hook_replayed` (its id stood for something else) or `hook_too_large`, and
   * starts nothing then.
   */
  deliver(hook: string, body: string | Uint8Array, headers: HookHeaders): Promise<OutsideOutcome>;
  close(): void;
}

/** Workflows on their own. Those that agents set off and call run by themselves. */
export interface Workflows {
  start<Input>(workflow: LoadedWorkflow<Input>, options?: RunOptions<NoInfer<Input>>): WorkflowRun;
  /** Takes a run over and goes on. Refused while another process works on it. */
  resume(run: string, options?: ResumeRunOptions): Promise<WorkflowRun>;
  /** What the workflow as it is now would mean for a run. Writes nothing. */
  changes(
    run: string,
    options?: Pick<ResumeRunOptions, 'workflow' | 'acceptChanges' | 'signal'>,
  ): Promise<WorkflowChanges>;
  /** Something came for what a run has called: it is worked on, by any process that has room, unless one does. */
  goOn(run: string): void;
  /** Through the inbox: works from any process. */
  cancel(run: string, reason?: string, from?: string): Promise<void>;
  /** An event for a `wait`; one that comes early is kept. */
  signal(run: string, event: string, data?: JsonObject, from?: string): Promise<void>;
  events(
    run: string,
    from?: number,
    options?: { readonly signal?: AbortSignal },
  ): Promise<readonly RunEvent[]>;
  /** After all committed events, or after `seq`; rejects with `event_unknown` where the log has no such event. */
  state(run: string, seq?: number, options?: { readonly signal?: AbortSignal }): Promise<RunState>;
  /** Starts an agent's workflows by their schedules and hooks, until it is closed. */
  listen(agent: LoadedAgent<unknown>, options?: ListenOptions): Listening;
  /** Goes on with every run that was alive when its process stopped, but those in `except`, and gives their ids. */
  recover(except?: ReadonlySet<string>): Promise<readonly string[]>;
  /** Resolves once every run that this process works on has ended or only waits. */
  idle(): Promise<void>;
  /** Ids of runs that are worked on here. */
  under(): readonly string[];
}

/** The workflows of an agent by name, in the order of its imports; then those beside it in its own file. */
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

/** Whether people and actions may start it: it says so, or nothing else does. */
export function isManual({ trigger, triggers = [] }: WorkflowManifest): boolean {
  const all = trigger === undefined ? triggers : [trigger];
  return all.length === 0 || all.some(({ type }) => type === 'manual');
}

/** Who takes turns for a run: the session that it belongs to, else the run that called it, else itself. */
export const groupOfRun = ({ id, origin: { session, parent } }: Pick<RunState, 'id' | 'origin'>): string =>
  session?.id ?? parent?.run ?? id;
