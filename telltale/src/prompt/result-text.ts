import type { ActionState, SkipReason } from '../events/action.ts';
import { writtenId } from '../events/action-id.ts';
import type { ErrorJson } from '../kernel/runtime-error.ts';

export type ResultStatus = 'ok' | 'error' | 'timeout' | 'skipped' | 'interrupted' | 'cancelled';

/** How an action ended, as the model is told; undefined while it has not. */
export function resultStatus(state: ActionState): ResultStatus | undefined {
  switch (state.status) {
    case 'waiting':
    case 'running':
      return undefined;
    case 'completed':
    // Told again, a result must read as it did: that it was undone later is the news of what undid it.
    case 'compensated':
      return 'ok';
    case 'failed':
      return state.error?.code === 'timeout' ? 'timeout' : 'error';
    case 'skipped':
      return 'skipped';
    case 'cancelled':
      return 'cancelled';
    case 'interrupted':
      return 'interrupted';
  }
}

/** Why an action has no result. */
export function whyNone(state: ActionState): string {
  switch (resultStatus(state)) {
    case undefined:
    case 'ok':
      return '';
    case 'error':
    case 'timeout':
      return errorText(state.error);
    case 'skipped':
      return skippedText(state.skipped?.reason, state.skipped?.because);
    case 'cancelled':
      return state.error === undefined
        ? 'It was stopped before it had ended.'
        : `It was stopped before it had ended: ${errorText(state.error)}`;
    case 'interrupted':
      return 'The runtime was stopped while it ran. It may or may not have taken effect: find out before you run it again.';
  }
}

export function errorText(error: ErrorJson | undefined): string {
  if (error === undefined) return 'It failed.';
  return `${error.code}: ${error.message}${error.hint === undefined ? '' : ` ${error.hint}`}`;
}

function skippedText(reason: SkipReason | undefined, because: string | undefined): string {
  const named = because === undefined ? 'another action' : `"${writtenId(because)}"`;
  switch (reason) {
    case undefined:
      return 'It did not run.';
    case 'if':
      return because === undefined
        ? 'It did not run: its "if" did not hold.'
        : `It did not run: its "if" could not be decided. ${because}`;
    case 'dependency':
      return `It did not run: it needs ${named}, which did not succeed.`;
    case 'unknown_dependency':
      return `It did not run: it needs ${named}, and there is no action of that id.`;
    case 'deadlock':
      return `It did not run: it and ${named} would have waited for each other for ever.`;
    case 'turn_failed':
      return 'It did not run: it was to start once the turn had ended well, and the turn broke off, reached a limit or left a tag open. Ask for it again if it is still right.';
  }
}
