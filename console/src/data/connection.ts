import type { Whoami } from '../../../telltale/src/client/api.ts';
import type { ErrorJson } from '../../../telltale/src/lib/errors.ts';

/** The one stream of events that all pages of a tab share. It is not tried again where `retryAt` is undefined. */
export type Connection =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'open' }
  | { readonly kind: 'lost'; readonly error: ErrorJson; readonly retryAt: number | undefined };

/** Who the server takes us for. */
export type Who =
  | { readonly kind: 'asking' }
  | { readonly kind: 'known'; readonly who: Whoami }
  /** It wants a token, or does not know the one it got. */
  | { readonly kind: 'refused'; readonly error: ErrorJson }
  | { readonly kind: 'failed'; readonly error: ErrorJson };

/** Codes with which the server answers 401. */
const REFUSALS: ReadonlySet<string> = new Set(['token_missing', 'token_refused']);

export const isRefusal = ({ code }: ErrorJson): boolean => REFUSALS.has(code);
