import type { FromServer, ToServer } from './messages.ts';

/** Primary result codes of SQLite. */
const BUSY = 5;
const LOCKED = 6;
const READONLY = 8;
const CANNOT_OPEN = 14;
const NOT_A_DATABASE = 26;

const HINTS: Readonly<Record<number, string>> = {
  [BUSY]: 'Another process holds the file. Try again.',
  [LOCKED]: 'Another process holds the file. Try again.',
  [READONLY]:
    'The operation "query" changes nothing; use "execute". If you did, the file may not be written to.',
};

/** What SQLite, or Node in its name, threw. */
export function describeFailure(thrown: unknown, op: ToServer['op']): FromServer {
  const { message, errcode, hint } = thrown as {
    readonly message?: string;
    readonly errcode?: number;
    readonly hint?: string;
  };
  const text = message ?? String(thrown);
  const code = (errcode ?? 0) & 0xff;
  const isPassing = code === BUSY || code === LOCKED;
  if (op === 'open' || code === CANNOT_OPEN || code === NOT_A_DATABASE)
    return { kind: 'unusable', why: text, retryable: isPassing };
  return { kind: 'refused', problem: { message: text, hint: hint ?? HINTS[code], retryable: isPassing } };
}
