import { RuntimeError } from '../../../kernel/runtime-error.ts';

/** The server is there and will take the command later. */
const PASSING = /^(LOADING|BUSY|TRYAGAIN|CLUSTERDOWN|MASTERDOWN|OOM|MISCONF)\b/;

const HINTS: readonly (readonly [RegExp, string])[] = [
  [/^WRONGTYPE\b/, 'The key holds another kind of value: use the operation for that kind, or another key.'],
  [/^(NOAUTH|NOPERM|WRONGPASS)\b/, 'The user in "connection" may not do this.'],
  [/not an integer|not a valid float/, 'Only numbers can be counted up.'],
  [/^READONLY\b/, 'This is a replica: "connection" should name the primary.'],
];

/** The server answered with an error. */
export const redisRefused = (what: string, command: string, message: string) =>
  new RuntimeError('redis_error', `The ${what} refused ${command}: ${message}`, {
    hint: HINTS.find(([pattern]) => pattern.test(message))?.[1],
    retryable: PASSING.test(message),
  });
