import { createHash } from 'node:crypto';
import type { RunState } from '../../events/run-state.ts';

/** Longer ones are known by their hash: rounds within rounds make long addresses. */
const MAX_CHARS = 256;
const HASH_CHARS = 32;

/**
 * The id of the session or run that a step calls: the same after a crash, so that it is found again. A try that follows
 * a failed one is a session or run of its own.
 */
export function childKey({ id: run, steps }: RunState, address: string, prefix: 'ses' | 'run'): string {
  const retries = steps.get(address)?.retries ?? 0;
  const key = `${run}.${address}${retries === 0 ? '' : `#${retries + 1}`}`;
  if (key.length <= MAX_CHARS) return key;
  return `${prefix}_${createHash('sha256').update(key).digest('hex').slice(0, HASH_CHARS)}`;
}
