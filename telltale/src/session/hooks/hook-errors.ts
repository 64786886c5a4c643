import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { HookedCall } from './hook-types.ts';

export const hookRefused = ({ kind, name }: Pick<HookedCall, 'kind' | 'name'>, by: string, reason: string) =>
  new RuntimeError('hook_refused', `The hook "${by}" refused this call of ${kind} "${name}": ${reason}`, {
    hint: 'Do what it asks for, or another thing: the same call is refused again.',
  });

/** One for all: what an error costs is its stack, and this one's tells nothing. */
export const HOOKS_STOPPED = new RuntimeError('cancelled', 'The session stopped while a hook was asked.');
