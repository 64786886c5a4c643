import { RuntimeError } from '../../kernel/runtime-error.ts';
import {
  databaseDamaged,
  databaseFailed,
  databaseFull,
  databaseLocked,
  databaseMissing,
  denied,
  hostUnknown,
  notAllowed,
  readOnly,
  unreachable,
} from './postgres-errors.ts';

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
