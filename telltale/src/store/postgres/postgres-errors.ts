import { RuntimeError } from '../../kernel/runtime-error.ts';

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

export const hostUnknown = (place: string, cause?: unknown) =>
  new RuntimeError('store_unreachable', `The host of PostgreSQL at ${place} is not known.`, {
    hint: 'Check the name of the host in the address, and the name service of this machine.',
    retryable: true,
    cause,
  });

export const denied = (place: string, found: string, cause?: unknown) =>
  new RuntimeError('store_denied', `PostgreSQL at ${place} does not let this user in: ${found}.`, {
    hint: 'Check user and password in the address (PGUSER and PGPASSWORD count where it has none), and the server’s pg_hba.conf.',
    cause,
  });

export const databaseMissing = (place: string, cause?: unknown) =>
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

export const databaseFull = (place: string, found: string, cause?: unknown) =>
  new RuntimeError('store_full', `There is no space left to write ${place}: ${found}.`, {
    hint: 'Make room on the database’s disk, then resume. Nothing of what failed was written.',
    retryable: true,
    cause,
  });

export const databaseLocked = (place: string, found: string, cause?: unknown) =>
  new RuntimeError('store_locked', `Others hold locks on ${place}: ${found}.`, {
    hint: 'Look into pg_stat_activity for a transaction that stays open, end it, then try again.',
    retryable: true,
    cause,
  });

export const databaseFailed = (place: string, found: string, cause?: unknown) =>
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
