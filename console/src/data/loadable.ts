import type { ErrorJson } from '../../../telltale/src/lib/errors.ts';

/** Something that is read from the server. `ready` remains while it is read again; `stale` says why that failed. */
export type Loadable<Value> =
  | { readonly kind: 'loading' }
  | { readonly kind: 'failed'; readonly error: ErrorJson }
  | { readonly kind: 'ready'; readonly value: Value; readonly stale?: ErrorJson };
