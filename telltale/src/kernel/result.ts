import type { RuntimeError } from './runtime-error.ts';

/** The outcome of reading something a user, a model or a network wrote: such mistakes are data, not throws. */
export type Result<T, E = RuntimeError> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: E };

export const ok = <T>(value: T): { readonly ok: true; readonly value: T } => ({ ok: true, value });
export const err = <E>(error: E): { readonly ok: false; readonly error: E } => ({ ok: false, error });
