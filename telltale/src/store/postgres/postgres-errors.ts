import { RuntimeError } from '../../lib/errors.ts';

const SQLSTATE = /^[0-9A-Z]{5}$/;
/** Of a server that goes down or comes up, or has no connection to spare. */
const GOING = new Set(['57P01', '57P02', '57P03', '57P05', '53300']);
const READ_ONLY = '25006';
const FULL = new Set(['53100', '53000', '53400']);
const LOCKED = new Set(['55P03', '40001', '40P01', '57014', '53200']);
const DAMAGED = new Set(['XX001', 'XX002', '42P01', '3F000', '42883', '42703']);
const UNKNOWN_HOST = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EAI_NODATA']);

/** The server's word for what went wrong; undefined where it said nothing: then the connection is to blame. */
export function sqlState(thrown: unknown): string | undefined {
  const code = codeOf(thrown);
  // Those of Node and of pg's own (`EPIPE`) have the form of one, too, but no severity.
  return SQLSTATE.test(code) && (thrown as { severity?: unknown }).severity !== undefined ? code : undefined;
}

/** Whether a new connection may help: nothing is known of what was on its way on this one. */
export function isBroken(thrown: unknown): boolean {
  if (thrown instanceof RuntimeError) return thrown.code === 'store_unreachable';
  const state = sqlState(thrown);
  return state === undefined || state.startsWith('08') || GOING.has(state) || state === READ_ONLY;
}

/** Two transactions were in each other's way, and this one gave way: the same again may pass. */
export const isContended = (thrown: unknown): boolean =>
  sqlState(thrown) === '40001' || sqlState(thrown) === '40P01';

/** Whether it is one write that is to blame, so that others in the same group may go through. */
export function isOfOneWrite(thrown: unknown): boolean {
  const state = sqlState(thrown) ?? '';
  return state.startsWith('22') || state.startsWith('23') || state.startsWith('54');
}

/** What PostgreSQL, or the way to it, threw, as one of our errors. `place` says where without the password. */
export function describePostgresFailure(place: string, thrown: unknown): RuntimeError {
  if (thrown instanceof RuntimeError) return thrown;
  const found = foundIn(thrown);
  const state = sqlState(thrown);
  if (state === undefined) {
    if (UNKNOWN_HOST.has(codeOf(thrown))) return hostUnknown(place, thrown);
    return unreachable(place, found, thrown);
  }
  if (state.startsWith('28')) return denied(place, found, thrown);
  if (state === '3D000') return databaseMissing(place, thrown);
  if (state === '42501')
    return notAllowed(
      place,
      found,
      'GRANT it to this user, or let an administrator run CREATE SCHEMA NAME AUTHORIZATION USER.',
      thrown,
    );
  if (state === READ_ONLY) return readOnly(place, found, thrown);
  if (FULL.has(state)) return databaseFull(place, found, thrown);
  if (LOCKED.has(state)) return databaseLocked(place, found, thrown);
  if (DAMAGED.has(state)) return databaseDamaged(place, found, thrown);
  if (state.startsWith('08') || GOING.has(state)) return unreachable(place, found, thrown);
  return databaseFailed(place, found, thrown);
}

/** In one sentence, without a full stop. A failed attempt at several addresses says it of the last. */
function foundIn(thrown: unknown): string {
  if (thrown instanceof AggregateError && thrown.errors.length > 0) return foundIn(thrown.errors.at(-1));
  const text = thrown instanceof Error ? thrown.message || codeOf(thrown) : String(thrown);
  return text.replaceAll('\n', ' ').replace(/\.$/, '');
}

function codeOf(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : '';
}

/** `place` is `HOST:PORT/DATABASE`: what is shown of an address, never its password. */

export const addressMalformed = (found: string) =>
  new RuntimeError('store_unknown', `The address of the PostgreSQL store cannot be read: ${found}.`, {
    hint: 'Use postgres://USER:PASSWORD@HOST:PORT/DATABASE, with / : @ # ? and % of a password as %2F %3A %40 %23 %3F %25.',
  });

export const unreachable = (place: string, found: string, cause?: unknown) =>
  new RuntimeError('store_unreachable', `PostgreSQL at ${place} cannot be reached: ${found}.`, {
    hint: 'Check host and port, that the server runs and lets this machine in.',
    retryable: true,
    cause,
  });

const hostUnknown = (place: string, cause?: unknown) =>
  new RuntimeError('store_unreachable', `The host of PostgreSQL at ${place} is not known.`, {
    hint: 'Check the name of the host in the address, and the name service of this machine.',
    retryable: true,
    cause,
  });

const denied = (place: string, found: string, cause?: unknown) =>
  new RuntimeError('store_denied', `PostgreSQL at ${place} does not let this user in: ${found}.`, {
    hint: 'Check user and password in the address (PGUSER and PGPASSWORD count where it has none), and the server’s pg_hba.conf.',
    cause,
  });

const databaseMissing = (place: string, cause?: unknown) =>
  new RuntimeError('no_store', `There is no such database: ${place}.`, {
    hint: 'Make it with createdb, or check its name in the address. Its tables are made by themselves.',
    cause,
  });

export const storeMissing = (place: string, schema: string) =>
  new RuntimeError('store_empty', `There is no store in schema "${schema}" of ${place}.`, {
    hint: 'It is made by the first command that runs something on it. If there should be one, check the database and ?schema=NAME in the address.',
  });

export const serverTooOld = (place: string, found: string) =>
  new RuntimeError(
    'store_unsupported',
    `PostgreSQL at ${place} is version ${found}; 14 or later is needed.`,
    {
      hint: 'Update the server, or use another one. Nothing was changed in this one.',
    },
  );

export const encodingUnsupported = (place: string, found: string) =>
  new RuntimeError('store_unsupported', `The database ${place} has the encoding ${found}; UTF8 is needed.`, {
    hint: 'Make another one with createdb --encoding UTF8 --template template0. Nothing was changed in this one.',
  });

export const schemaNewer = (place: string, schema: string, found: number, known: number) =>
  new RuntimeError(
    'store_newer',
    `Schema "${schema}" of ${place} is a store of version ${found}; this telltale knows ${known}.`,
    { hint: 'Update telltale, or use another schema (?schema=NAME). Nothing was changed in this one.' },
  );

export const schemaForeign = (place: string, schema: string, found: string) =>
  new RuntimeError('store_foreign', `Schema "${schema}" of ${place} ${found}; it is no store of telltale.`, {
    hint: 'Choose another schema with ?schema=NAME in the address, or another database. Nothing was changed in this one.',
  });

export const otherLease = (place: string, schema: string, found: number, asked: number) =>
  new RuntimeError(
    'store_other_lease',
    `The fleet in schema "${schema}" of ${place} goes by a lease of ${found} ms, not of ${asked}.`,
    {
      hint: `Give ?lease=${found}, or leave it out. To change it, stop all processes of the fleet first. Nothing was changed.`,
    },
  );

export const otherFleet = (place: string, schema: string, found: string, asked: string) =>
  new RuntimeError(
    'store_other_fleet',
    `Schema "${schema}" of ${place} belongs to the fleet "${found}", not to "${asked}".`,
    {
      hint: `Give ?fleet=${encodeURIComponent(found)} to join that one, or ?schema=NAME for a store of its own. Nothing was changed.`,
    },
  );

export const notAllowed = (place: string, found: string, hint: string, cause?: unknown) =>
  new RuntimeError('store_unwritable', `This user may not write the store at ${place}: ${found}.`, {
    hint,
    cause,
  });

export const readOnly = (place: string, found: string, cause?: unknown) =>
  new RuntimeError('store_unwritable', `The store at ${place} cannot be written: ${found}.`, {
    hint: 'Give the address of the primary server, not of a standby, and look for default_transaction_read_only.',
    retryable: true,
    cause,
  });

const databaseFull = (place: string, found: string, cause?: unknown) =>
  new RuntimeError('store_full', `There is no space left to write ${place}: ${found}.`, {
    hint: 'Make room on the database’s disk, then resume. Nothing of what failed was written.',
    retryable: true,
    cause,
  });

const databaseLocked = (place: string, found: string, cause?: unknown) =>
  new RuntimeError('store_locked', `Others hold locks on ${place}: ${found}.`, {
    hint: 'Look into pg_stat_activity for a transaction that stays open, end it, then try again.',
    retryable: true,
    cause,
  });

const databaseFailed = (place: string, found: string, cause?: unknown) =>
  new RuntimeError('store_failed', `PostgreSQL at ${place} refused a statement: ${found}.`, {
    hint: 'Look at the cause and into the server’s log; what was reported as committed is safe.',
    cause,
  });

export const databaseDamaged = (place: string, found: string, cause?: unknown) =>
  new RuntimeError('store_damaged', `${place} cannot be read as a store: ${found}.`, {
    hint: 'Restore a backup, or begin anew in another schema (?schema=NAME).',
    cause,
  });

export const liveTooLong = (channel: string, bytes: number, limit: number) =>
  new RuntimeError(
    'live_too_long',
    `A live message on "${channel}" has ${bytes} bytes, ${limit} are allowed.`,
    {
      hint: 'Cut it into several, or put it on the log.',
    },
  );
