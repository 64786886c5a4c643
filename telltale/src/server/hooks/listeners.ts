import type { ErrorJson } from '../../kernel/runtime-error.ts';
import type { HookHeaders, OutsideOutcome } from '../../session/runs/run-types.ts';

export interface ListenProblem {
  /** The agents that it is about. */
  readonly agents: readonly string[];
  readonly error: ErrorJson;
}

/** The schedules and hooks of all agents of a catalog, as it changes. */
export interface Listeners {
  /** As `Listening.deliver`, whichever agent listens. Rejects with `hook_ambiguous` where several do. */
  deliver(hook: string, body: string | Uint8Array, headers: HookHeaders): Promise<OutsideOutcome>;
  /** Who listens to what. */
  hooks(): readonly { readonly hook: string; readonly agent: string }[];
  /** Why hooks or schedules of agents are not listened to, or only as they were before the last change. */
  problems(): readonly ListenProblem[];
  /** Starts nothing any more. What waits for its turn by a schedule is started after the next start. */
  close(): void;
}
