import type { Cause } from '../../events/event.ts';
import type { Json } from '../../kernel/json.ts';
import type { RuntimeError } from '../../kernel/runtime-error.ts';

/** What follows a turn; `over`: of a chat, too, since an agent ended the conversation. `cause` is what ended the session, where that is not on its own log. */
export type Next =
  | { readonly kind: 'turn' }
  | {
      readonly kind: 'completed';
      readonly result: Json;
      readonly cause?: Cause | undefined;
      readonly over?: true;
    }
  | { readonly kind: 'stalled'; readonly error: RuntimeError }
  | { readonly kind: 'stopped' };
