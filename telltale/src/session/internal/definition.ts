import { type DeclaredAction, isShown } from '../../events/action.ts';
import { idFor, newestOf } from '../../events/action-id.ts';
import type { EventBody } from '../../events/event.ts';
import type { SessionState } from '../../events/state.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import { suggest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import type { Memory } from '../../memory/memory.ts';
import type { RolledBack } from '../../scheduler/scheduler.ts';
import type { Target } from '../../targets/target.ts';
import type { OpenDesk } from '../artifact-desk.ts';
import type { FeedDesk } from '../feeds/feed-desk.ts';
import type { CompleteStep } from '../guide/complete-step.ts';
import type { SetVariable } from '../variables/variable-writer.ts';

/** What internal actions have of their session. */
export interface InternalDeps {
  readonly state: SessionState;
  readonly manifest: AgentManifest;
  readonly append: (body: EventBody) => unknown;
  readonly setVariable: SetVariable;
  readonly desk: OpenDesk;
  /** Undoes what was asked for before the action `own`, which asks for it, until the signal is aborted. */
  readonly rollback: (to: string | undefined, own: string, signal: AbortSignal) => Promise<RolledBack>;
  /** Stops an action that has not ended; resolves when it has. */
  readonly cancel: (id: string, reason: string) => Promise<void>;
  /** The feeds of the session; rejects where it has none. */
  readonly feeds: () => Promise<FeedDesk>;
  /** What is known of the code base; rejects where the agent has no memory. */
  readonly memory: () => Promise<Memory>;
  /** Of a session that is led; of another it rejects. */
  readonly completeStep: CompleteStep;
}

/** An action on the agent's own environment. */
export interface Definition {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
  readonly idempotent: boolean;
  /** Time for it, where that is not the agent's `limits.action_timeout`. */
  readonly timeoutMs?: number;
  /** Why an agent has no use for it, so that it is not offered; absent, or undefined: it has. */
  useless?(manifest: AgentManifest): string | undefined;
  /** Whether the prompt of this agent teaches it; absent: always. It can be called all the same. */
  isTaught?(manifest: AgentManifest, targets: readonly Pick<Target, 'kind' | 'name'>[]): boolean;
  /** What the model reads in place of `parameters`, which still judge each call. */
  readonly shownParameters?: JsonObject;
  /** The input with our names where it has those of another system; an error where it is unclear what is meant. */
  underOurNames?(input: JsonObject): JsonObject | RuntimeError;
  /** The same, where it depends on the agent. */
  shownTo?(manifest: AgentManifest): JsonObject;
  /** `own` is the id of the action that calls it; `signal` is aborted when it is to stop. */
  run(input: JsonObject, deps: InternalDeps, own: string, signal: AbortSignal): Promise<Json>;
}

const SUGGESTED = 20;

export function noSuchAction(id: string, state: SessionState): RuntimeError {
  const shown = [...state.actions.values()].map(({ action }) => action).filter(isShown);
  const known = newestOf(state, id);
  const several = shown.filter(({ base, group, within }) => [base, group, ...(within ?? [])].includes(known));
  const idsOf = (some: readonly DeclaredAction[]) =>
    some.map((action) => idFor(state, action.id)).slice(-SUGGESTED);
  return new RuntimeError('action_unknown', `No action has the id "${id}".`, {
    hint:
      several.length > 0
        ? `It stands for several; name one of them: ${idsOf(several).join(', ')}.`
        : suggest(id, idsOf(shown), 'The latest ids'),
  });
}
