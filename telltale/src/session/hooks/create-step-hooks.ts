import type { RunJournal } from '../../engine/run-journal.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { createTurnstile } from '../../kernel/turnstile.ts';
import type { DecisionContext } from '../../targets/artifacts/artifacts.ts';
import type { Invoke } from '../../targets/artifacts/invoker.ts';
import type { RunCommand } from '../../targets/process/command-request.ts';
import type { HooksOf } from '../../workflows/step-hooks.ts';
import { createHooks } from './create-hooks.ts';
import type { HookLists } from './hook-types.ts';

export interface StepHookDeps {
  readonly agent: { readonly name: string; readonly hooks: HookLists };
  readonly workflow: { readonly hooks: HookLists };
  readonly journal: RunJournal;
  readonly clock: Clock;
  readonly command: RunCommand;
  readonly invoke?: Invoke | undefined;
  /** What decisions of the run see while that step is in hand. */
  readonly context: (step: string) => DecisionContext;
  /** The metadata of the session that the run belongs to, as the run sees it. */
  readonly metadata: () => JsonObject;
  readonly note?: ((what: string) => void) | undefined;
}

/** Hooks of one run that are asked side by side: each command is a process. */
const MAX_SIDE_BY_SIDE = 8;

/** The hooks around the calls of a run's steps. */
export function createStepHooks(deps: StepHookDeps): HooksOf {
  const { agent, workflow, journal, metadata } = deps;
  const { state } = journal;
  const turnstile = createTurnstile(MAX_SIDE_BY_SIDE);
  return (step) => {
    const hooks = createHooks(
      { agent: agent.hooks, workflow: workflow.hooks, step: { name: step.name, hooks: step.hooks } },
      {
        ...deps,
        stream: state.id,
        context: () => deps.context(step.name),
        marks: () => state.hooks,
        balance: () => state.balance,
        append: journal.append,
        surroundings: () => ({
          agent: agent.name,
          run: state.id,
          ...(state.origin.session === undefined ? {} : { session: state.origin.session.id }),
          metadata: metadata(),
          variables: Object.fromEntries(state.variables),
        }),
      },
      turnstile,
    );
    if (hooks === undefined) return undefined;
    return {
      before: (call, check) => hooks.before(call, check),
      async after(call, result) {
        const { output, records } = await hooks.after(call, result);
        for (const record of records) journal.append(record, call.cause);
        return output;
      },
      failed: ({ signal, cause, ...action }, error) =>
        hooks.tell('on_error', { action, error }, signal, cause),
    };
  };
}
