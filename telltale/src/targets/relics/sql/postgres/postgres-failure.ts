import type { RuntimeError } from '../../../../kernel/runtime-error.ts';
import { thrownMessage } from '../../../output/thrown-message.ts';
import { relicBrokeOff, relicUnavailable } from '../../relic-errors.ts';
import { ONE_STATEMENT, sqlRefused } from '../sql-errors.ts';

export interface PostgresPlace {
  readonly what: string;
  readonly where: string;
  /** Takes credentials out of a message. */
  readonly redact: (text: string) => string;
}

interface ServerError {
  readonly code: string;
  readonly message: string;
  readonly detail?: string;
  readonly hint?: string;
}

/** SQLSTATEs: five characters, unlike the codes of the system's errors. */
const isServerError = (thrown: unknown): thrown is ServerError =>
  thrown instanceof Error && /^[0-9A-Z]{5}$/.test(String((thrown as { code?: unknown }).code));

/** The transaction lost against another, or waited too long for a lock. */
const PASSING: ReadonlySet<string> = new Set(['40001', '40P01', '55P03', '53100', '53200', '53300']);
/** The server ends the connection, or is not ready for any. */
const GOING_AWAY = /^(?:08(?!P01)|57P)/;

const HINTS: Readonly<Record<string, string>> = {
  '25006': 'The operation "query" changes nothing; use "execute".',
  '22021': 'A text of PostgreSQL cannot hold a zero byte.',
};

/** Why there is no connection. A user or a database that is not known will not be known in a second either. */
export function connectFailure(thrown: unknown, { what, where, redact }: PostgresPlace): RuntimeError {
  if (isServerError(thrown) && thrown.code.startsWith('28'))
    return relicUnavailable(what, where, `it refuses the user or the password (${thrown.code}).`, false);
  const isFinal = isServerError(thrown) && thrown.code.startsWith('3D');
  return relicUnavailable(what, where, redact(thrownMessage(thrown)), !isFinal);
}

/** Why a statement failed. */
export function statementFailure(
  thrown: unknown,
  { what, where, redact }: PostgresPlace,
  mayRepeat: boolean,
): RuntimeError {
  if (!isServerError(thrown) || GOING_AWAY.test(thrown.code))
    return relicBrokeOff(what, where, redact(thrownMessage(thrown)), mayRepeat);
  const { code, message, detail, hint } = thrown;
  const isSeveral = code === '42601' && message.includes('multiple commands');
  return sqlRefused(what, {
    message: redact(`${message}${detail === undefined ? '' : `. ${detail}`} (${code})`),
    hint: isSeveral ? ONE_STATEMENT : (hint ?? HINTS[code]),
    retryable: PASSING.has(code),
  });
}
