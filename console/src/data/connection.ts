import type { Whoami } from '../../../telltale/src/client/api.ts';
import type { ErrorJson } from '../../../telltale/src/lib/errors.ts';

/** The event stream that all pages of a tab share. Without `retryAt`, it is not retried. */
export type Connection =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'open' }
  | { readonly kind: 'lost'; readonly error: ErrorJson; readonly retryAt: number | undefined };

/** Who we are according to the server. */
export type Who =
  | { readonly kind: 'asking' }
  | { readonly kind: 'known'; readonly who: Whoami }
  /** The server requires a token, or does not accept the one it got. */
  | { readonly kind: 'refused'; readonly error: ErrorJson }
  | { readonly kind: 'failed'; readonly error: ErrorJson };

/** The error codes of the server's 401 responses. */
const REFUSALS: ReadonlySet<string> = new Set(['token_missing', 'token_refused']);

export const isRefusal = ({ code }: ErrorJson): boolean => REFUSALS.has(code);
