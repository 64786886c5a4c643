import { RuntimeError } from '../../../kernel/runtime-error.ts';

export const queueFull = (what: string, limit: number) =>
  new RuntimeError('queue_full', `The ${what} holds ${limit} items, which is all it takes.`, {
    hint: 'Let something take items off it, or clear it; then push again.',
    retryable: true,
  });

export const queueBusy = (what: string) =>
  new RuntimeError('queue_busy', `Others were quicker at the ${what} each time.`, {
    hint: 'Try again.',
    retryable: true,
  });

/** `why`: `has run out`. */
export const leaseLost = (what: string, lease: string, why: string) =>
  new RuntimeError('lease_lost', `The lease "${lease}" of ${what} ${why}, or there was none.`, {
    hint: 'The item may have been given to somebody else: claim again. "extend" keeps a lease that needs longer.',
  });
