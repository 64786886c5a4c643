import type { InvokeRecord } from '../../lib/calls.ts';
import { type ErrorJson, RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { Cause, HookRecord } from '../../log/event.ts';
import { stepName } from '../../log/reduce-run.ts';
import type { AgentManifest, WorkflowManifest } from '../../manifest/schema/kinds.ts';
import type { RunCommand } from '../../tools/process/command-request.ts';
import { allSteps } from '../../workflows/machine/composite.ts';

/** The workflow that guides a session, and the command runner of the agent that it belongs to. */
export interface GuidingWorkflow {
  readonly workflow: Pick<WorkflowManifest, 'hooks' | 'steps' | 'states'>;
  readonly command: RunCommand;
}

/** The hooks of a guided session in addition to its agent's. They depend on the current task. */
export interface GuidedHooks {
  /** All hooks that may apply. */
  readonly all: readonly HookLists[];
  readonly command: RunCommand;
  /** The hooks that apply during a task. */
  during(task: string): { readonly workflow: HookLists; readonly step: NamedHooks };
}

interface NamedHooks {
  readonly name: string;
  readonly hooks: HookLists | undefined;
}

/** Undefined if neither the workflow nor its steps have hooks. */
export function guidedHooks({ workflow, command }: GuidingWorkflow): GuidedHooks | undefined {
  const { hooks } = workflow;
  const steps = new Map(allSteps(workflow).map((step) => [step.name, step.hooks]));
  const all = [hooks, ...steps.values()].filter(
    (lists) => lists !== undefined && hasHooks(lists),
  ) as HookLists[];
  if (all.length === 0) return undefined;
  return {
    all,
    command,
    during(task) {
      const name = stepOf(task);
      return { workflow: hooks, step: { name, hooks: steps.get(name) } };
    },
  };
}

/** The key of a task is `RUN:ADDRESS#ATTEMPT`. */
const stepOf = (task: string): string => stepName(task.slice(task.lastIndexOf(':') + 1).replace(/#\d+$/, ''));

export const hookRefused = ({ kind, name }: Pick<HookedCall, 'kind' | 'name'>, by: string, reason: string) =>
  new RuntimeError('hook_refused', `The hook "${by}" refused this call of ${kind} "${name}": ${reason}`, {
    hint: 'Do what it asks for, or another thing: the same call is refused again.',
  });

/** Shared, because its stack says nothing. */
export const HOOKS_STOPPED = new RuntimeError('cancelled', 'The session stopped while a hook was asked.');

export type HookKind = HookRecord['hook'];

/** `hooks` of an agent, a workflow or a step. All have the same shape. */
export type HookLists = AgentManifest['hooks'];

/** A hook: an invocation or a command. */
export type Hook = HookLists['before_action'][number];

/** A hook and its source. */
export interface PlacedHook {
  readonly hook: Hook;
  readonly of: string;
  readonly index: number;
}

/** A call with hooks: an action of a session or a step of a run. */
export interface HookedCall {
  /** The action's id, or the step's address. */
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly parameters: JsonObject;
  readonly cause?: Cause | undefined;
  readonly signal: AbortSignal;
}

/** The context that a hook gets in addition to the call. */
export interface HookContext {
  readonly agent: string;
  readonly session?: string;
  readonly run?: string;
  readonly turn?: number;
  readonly metadata: JsonObject;
  readonly variables: JsonObject;
}

/** What a hook is about. */
export interface HookSubject {
  /** The turn that is about to start. */
  readonly turn?: number;
  readonly action?: Pick<HookedCall, 'id' | 'kind' | 'name' | 'parameters'>;
  readonly result?: Json;
  readonly error?: ErrorJson;
}

/** Events that hooks write to the log of a session or run. */
export type HookEvent =
  | ({ readonly type: 'hook.ran' } & HookRecord)
  | ({ readonly type: 'invoke' } & InvokeRecord)
  | {
      readonly type: 'budget.charged';
      readonly what: 'artifact';
      readonly amount: number;
      readonly balance: number;
    };

/** Checks parameters against the target's schema. */
export type CheckParameters = (parameters: JsonObject) => RuntimeError | undefined;

export function hasHooks(lists: HookLists | undefined): boolean {
  for (const kind in lists) if ((lists[kind as keyof HookLists]?.length ?? 0) > 0) return true;
  return false;
}
