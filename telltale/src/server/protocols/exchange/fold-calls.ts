import { type DeclaredAction, isShown } from '../../../events/action.ts';
import type { ObservedEvent } from '../../../events/event.ts';
import type { Json, JsonObject } from '../../../kernel/json.ts';
import type { ErrorJson } from '../../../kernel/runtime-error.ts';

/** What a protocol tells of an action: that it is asked for, with what, and what came of it. */
export type CallBeat =
  | { readonly kind: 'open'; readonly id: string; readonly action: DeclaredAction }
  | { readonly kind: 'input'; readonly id: string; readonly name: string; readonly input: JsonObject }
  | { readonly kind: 'output'; readonly id: string; readonly output: Json }
  | { readonly kind: 'error'; readonly id: string; readonly error: Pick<ErrorJson, 'code' | 'message'> };

/** Folds the events of actions into calls: each opens once, gets its input once and ends once, in this order. */
export interface CallFold {
  take(event: ObservedEvent): readonly CallBeat[];
  /** Gives calls that have not begun the input they were declared with. */
  flush(): readonly CallBeat[];
  /** Those that have not ended. */
  open(): readonly string[];
}

/** Longer results are cut: the log has all of them. */
const MAX_OUTPUT_CHARS = 1_048_576;

/** `known`: calls that were told of before and have not ended. Events of others that were declared before are left out. */
export function createCallFold(known: readonly string[] = []): CallFold {
  /** With the action, as long as its input is not out. */
  const calls = new Map<string, DeclaredAction | undefined>(known.map((id) => [id, undefined]));

  const input = (id: string, given: JsonObject): readonly CallBeat[] => {
    const action = calls.get(id);
    if (action === undefined) return [];
    calls.set(id, undefined);
    return [{ kind: 'input', id, name: action.name, input: given }];
  };
  const end = (id: string, beat: CallBeat): readonly CallBeat[] => {
    if (!calls.has(id)) return [];
    const before = input(id, calls.get(id)?.parameters ?? {});
    calls.delete(id);
    return [...before, beat];
  };
  const fail = (id: string, code: string, message: string) =>
    end(id, { kind: 'error', id, error: { code, message } });

  return {
    take(event) {
      switch (event.type) {
        case 'action.declared': {
          const { action } = event;
          if (!isShown(action) || calls.has(action.id)) return [];
          calls.set(action.id, action);
          return [{ kind: 'open', id: action.id, action }];
        }
        case 'review.requested':
          return input(event.action, event.input);
        case 'action.started':
          return input(event.id, event.input);
        case 'action.completed':
          return end(event.id, { kind: 'output', id: event.id, output: cut(event.output) });
        case 'action.failed':
          return fail(event.id, event.error.code, event.error.message);
        case 'action.skipped':
          return fail(event.id, 'skipped', skippedText(event.reason, event.because));
        case 'action.cancelled':
          return fail(event.id, 'cancelled', `It was cancelled: ${event.reason}`);
        case 'action.interrupted':
          return fail(
            event.id,
            'interrupted',
            'The server stopped while it ran; nobody knows how far it came.',
          );
        default:
          return [];
      }
    },
    flush: () =>
      [...calls].flatMap(([id, action]) => (action === undefined ? [] : input(id, action.parameters))),
    open: () => [...calls.keys()],
  };
}

const skippedText = (reason: string, because: string | undefined): string =>
  because === undefined ? `It was skipped (${reason}).` : `It was skipped (${reason}): ${because}`;

function cut(output: Json): Json {
  const text = typeof output === 'string' ? output : JSON.stringify(output);
  if (text.length <= MAX_OUTPUT_CHARS) return output;
  return `${text.slice(0, MAX_OUTPUT_CHARS)}… [${text.length - MAX_OUTPUT_CHARS} characters more are on the session's log]`;
}

/** A result as text, for protocols that have nothing else. */
export const outputText = (output: Json): string =>
  typeof output === 'string' ? output : JSON.stringify(output);
