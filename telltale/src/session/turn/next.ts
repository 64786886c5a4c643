import type { Json } from '../../kernel/json.ts';
import type { RuntimeError } from '../../kernel/runtime-error.ts';

/** What follows a turn. */
export type Next =
  | { readonly kind: 'turn' }
  | { readonly kind: 'completed'; readonly result: Json }
  | { readonly kind: 'stalled'; readonly error: RuntimeError }
  | { readonly kind: 'stopped' };
