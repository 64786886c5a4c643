import { stepName } from '../../events/reduce-run.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import type { RunCommand } from '../../targets/process/command-request.ts';
import { allSteps } from '../../workflows/all-steps.ts';
import { type HookLists, hasHooks } from './hook-types.ts';

/** The workflow that leads a session, and what its programs run with: those of the agent that it belongs to. */
export interface LedBy {
  readonly workflow: Pick<WorkflowManifest, 'hooks' | 'steps' | 'states'>;
  readonly command: RunCommand;
}

/** The hooks that a led session has beside its agent's: which, depends on the task in hand. */
export interface LedHooks {
  /** All that it may come to have. */
  readonly all: readonly HookLists[];
  readonly command: RunCommand;
  /** While it works on that task. */
  during(task: string): { readonly workflow: HookLists; readonly step: NamedHooks };
}

interface NamedHooks {
  readonly name: string;
  readonly hooks: HookLists | undefined;
}

/** Undefined where neither the workflow nor one of its steps has any. */
export function ledHooks({ workflow, command }: LedBy): LedHooks | undefined {
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
