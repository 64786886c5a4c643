import { rmSync, writeFileSync } from 'node:fs';
import { RuntimeError } from '../../../kernel/runtime-error.ts';
import { storeDamaged, storeFailed, storeFull, storeLocked, storeUnwritable } from '../sqlite-errors.ts';

const SQLITE_IOERR = 10;
const UNWRITABLE = new Set([3, 8, 14, 23]); // PERM, READONLY, CANTOPEN, AUTH
/** They speak of one statement; all others, of the file or the machine. */
const OF_ONE_STATEMENT = new Set([1, 18, 19, 20, 25]); // ERROR, TOOBIG, CONSTRAINT, MISMATCH, RANGE
const NO_SPACE = new Set(['ENOSPC', 'EDQUOT']);
const NO_ACCESS = new Set([
  'EACCES',
  'EPERM',
  'EROFS',
  'ENOTDIR',
  'EEXIST',
  'ENOENT',
  'EISDIR',
  'ENAMETOOLONG',
  'ELOOP',
]);
const PROBE_BYTES = 64 * 1024;

/** Whether it is the statement that is to blame, so that others in the same group may go through. */
export function isOfOneStatement(thrown: unknown): boolean {
  const code = sqliteCode(thrown);
  return code === undefined || OF_ONE_STATEMENT.has(code & 0xff);
}

export function isBusy(thrown: unknown): boolean {
  const code = (sqliteCode(thrown) ?? 0) & 0xff;
  return code === 5 || code === 6;
}

/** What SQLite or the file system threw, as one of our errors. */
export function describeFailure(path: string, lockTimeoutMs: number, thrown: unknown): RuntimeError {
  if (thrown instanceof RuntimeError) return thrown;
  const found = thrown instanceof Error ? thrown.message : String(thrown);
  const extended = sqliteCode(thrown);
  if (extended === undefined) {
    const code = systemCode(thrown);
    if (NO_SPACE.has(code)) return storeFull(path, thrown);
    if (NO_ACCESS.has(code)) return storeUnwritable(path, found, thrown);
    return storeFailed(path, found, thrown);
  }
  const code = extended & 0xff;
  if (isBusy(thrown)) return storeLocked(path, lockTimeoutMs, thrown);
  if (code === 13) return storeFull(path, thrown);
  if (code === 11 || code === 26) return storeDamaged(path, found, thrown);
  if (UNWRITABLE.has(code)) return storeUnwritable(path, found, thrown);
  if (code === SQLITE_IOERR && hasNoSpace(path)) return storeFull(path, thrown);
  return storeFailed(path, found, thrown);
}

/** SQLite calls an exceeded quota an I/O error like any other: a write beside the file tells. */
function hasNoSpace(path: string): boolean {
  const probe = `${path}-probe`;
  try {
    writeFileSync(probe, Buffer.alloc(PROBE_BYTES));
    return false;
  } catch (error) {
    return NO_SPACE.has(systemCode(error));
  } finally {
    rmSync(probe, { force: true });
  }
}

function sqliteCode(thrown: unknown): number | undefined {
  if (!(thrown instanceof Error) || !('errcode' in thrown)) return undefined;
  return typeof thrown.errcode === 'number' ? thrown.errcode : undefined;
}

function systemCode(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : '';
}
