import { RuntimeError } from '../../kernel/runtime-error.ts';

/** A service that cannot be reached. Nothing was carried out. `where` is without credentials. */
export const relicUnavailable = (what: string, where: string, why: string, retryable = true) =>
  new RuntimeError('relic_unavailable', `The ${what} at ${where} cannot be reached: ${why}`, {
    hint: retryable
      ? 'Is the service running, and is the address in "connection" right? Calls work again once it is back.'
      : 'Mend the address or the credentials in "connection".',
    retryable,
  });

/** A connection that broke, or was silent, after the call had been sent. */
export const relicBrokeOff = (what: string, where: string, why: string, mayRepeat: boolean) =>
  new RuntimeError('relic_unavailable', `The ${what} at ${where} broke off: ${why}`, {
    hint: mayRepeat
      ? 'The call changes nothing, or nothing twice: make it again.'
      : 'Whether it was carried out is not known. Look before you make it again.',
    retryable: mayRepeat,
  });

export const relicClosed = (what: string) =>
  new RuntimeError('relic_unavailable', `The ${what} was closed with its runtime.`, {
    hint: 'Nothing can be called any more.',
  });
