import type { PlannedAction } from '../../../events/run-event.ts';
import type { ErrorJson } from '../../../kernel/runtime-error.ts';

/** Why a plan did not come to its end. The first gives the model another plan, the second fails the step. */
export type Trouble =
  /** It was not executed: it cannot be. */
  | { readonly kind: 'unusable'; readonly problem: string }
  /** A person does not want it executed. */
  | { readonly kind: 'rejected'; readonly by: string; readonly note?: string }
  /** An action failed, or gave something else than was expected. */
  | {
      readonly kind: 'failed';
      readonly planned: PlannedAction;
      readonly index: number;
      readonly error: ErrorJson;
    }
  /** It was executed, and a verifier or a person is not content with what came of it. */
  | { readonly kind: 'judged'; readonly by: string; readonly text: string };
