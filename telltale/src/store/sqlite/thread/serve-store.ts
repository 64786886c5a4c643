import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
} from 'node:fs';
import { platform, userInfo } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import type { RuntimeError } from '../../../lib/errors.ts';
import type { AppendOp, FromBackend, Outcome, ToBackend, WriteRequest } from '../../grouped/messages.ts';
import type { ThreadSettings } from '../open-sqlite-store.ts';
import {
  describeFailure,
  isBusy,
  storeGone,
  storeJournalHidden,
  storeNewer,
  storeUnwritable,
  storeWritten,
} from '../sqlite-errors.ts';
import { compareChecksums, createAppendRows, createReadStream } from './append-rows.ts';
import { createCheckpoints, PAGE_BYTES, startCheckpointer } from './checkpoints.ts';
import { examineFile, identityOf, isSameFile } from './examine-file.ts';
import { inspectFile, pause } from './inspect-file.ts';
import { APPLICATION_ID, MIGRATIONS } from './migrations.ts';
import { createAttention, createDoorbell, createOwnership } from './ownership.ts';
import { createListStreams, createStreamRows, createTableRows } from './rows.ts';
import { createRunGroup, isAppend, performRead, performWrite, type Rows } from './run-group.ts';
import { createUpkeepRows } from './upkeep-rows.ts';

type ServeStoreGroup = Extract<ToBackend, { readonly kind: 'group' }>;

/** Opens the file and answers messages. Undefined, and `refused` told, where it cannot be opened. */
export function serveStore(
  settings: ThreadSettings,
  tell: (message: FromBackend) => void,
  end: () => void,
): ((message: ToBackend) => void) | undefined {
  const describe = (thrown: unknown): RuntimeError =>
    describeFailure(settings.path, settings.lockTimeoutMs, thrown);
  try {
    const serve = open(settings, tell, end, describe);
    tell({ kind: 'opened' });
    return serve;
  } catch (error) {
    tell({ kind: 'refused', error: describe(error).toJSON() });
    end();
    return undefined;
  }
}

function open(
  settings: ThreadSettings,
  tell: (message: FromBackend) => void,
  end: () => void,
  describe: (thrown: unknown) => RuntimeError,
): (message: ToBackend) => void {
  const { db, mustBeAsFound } = openDatabase(settings);
  const file = identityOf(settings.path);
  const bell = createDoorbell(settings);
  const ownership = createOwnership(db, settings, bell);
  const tables = createTableRows(db);
  const appends = createAppendRows(db, tables);
  const attention = createAttention({ db, ownership, tell });
  const checkpoints = createCheckpoints(db, { beside: () => startCheckpointer(settings, file) });
  /** Doorbells of owners whose streams got a message. */
  const toRing = new Set<string>();
  const rows: Rows = {
    appends,
    tables,
    streams: createStreamRows(db, ownership),
    lists: createListStreams(db, ownership),
    readStream: createReadStream(db, settings.path),
    upkeep: createUpkeepRows(db, ownership),
    examine: () => examineFile(db),
    checksums: () => compareChecksums(db),
    messaged(owner) {
      const path = owner === ownership.id ? undefined : ownership.doorbellOf(owner);
      if (path !== undefined) toRing.add(path);
    },
  };
  bell.sweep();
  const runGroup = createRunGroup({
    db,
    appends,
    ownership,
    describe,
    perform: (request, now) => performWrite(rows, request, now),
  });

  const write = ({ writes, now }: ServeStoreGroup): FromBackend => {
    const begun = performance.now();
    try {
      // SQLite would go on with a file that no name leads to any more, and all of it be lost at the end.
      if (!isSameFile(settings.path, file)) throw storeGone(settings.path);
      const outcomes = runGroup(writes, now);
      const ms = performance.now() - begun;
      return outcomes.size === 0
        ? { kind: 'committed', ms }
        : { kind: 'written', outcomes: [...outcomes], ms };
    } catch (error) {
      toRing.clear();
      return { kind: 'failed', error: describe(error).toJSON() };
    }
  };

  /** After the answer is out: nobody waits for these. */
  const tidy = ({ writes }: ServeStoreGroup, isCommitted: boolean) => {
    for (const path of toRing) bell.ring(path);
    toRing.clear();
    if (ownership.id !== null) {
      attention.startOwning();
      bell.listen(attention.look);
    }
    if (isCommitted) checkpoints.committed(writtenChars(writes));
  };

  const close = (): FromBackend => {
    attention.stop();
    checkpoints.stop();
    bell.close();
    try {
      ownership.resign();
      return { kind: 'closed' };
    } catch (error) {
      return { kind: 'closed', error: describe(error).toJSON() };
    } finally {
      db.close();
    }
  };

  return (message) => {
    switch (message.kind) {
      case 'group': {
        const written = message.writes.length > 0 ? write(message) : undefined;
        if (written !== undefined) tell(written);
        if (message.reads.length > 0) {
          const answer = (request: ServeStoreGroup['reads'][number]): Outcome =>
            performRead(rows, request, message.now, describe, mustBeAsFound);
          tell({ kind: 'answers', outcomes: message.reads.map(answer) });
        }
        if (written !== undefined) tidy(message, written.kind !== 'failed');
        return;
      }
      case 'watch':
        attention.watch(message.stream, message.on);
        return;
      case 'close':
        tell(close());
        end();
    }
  };
}

/** About how much a group puts into the WAL: the texts of its writes. Names and keys count little. */
function writtenChars(writes: readonly (AppendOp | WriteRequest)[]): number {
  let chars = 0;
  for (const write of writes) chars += isAppend(write) ? appended(write) : requested(write);
  return chars;
}

function appended([, , , , body, , , writes]: AppendOp): number {
  return writes === null ? body.length : body.length + valuesOf(writes);
}

function requested(request: WriteRequest): number {
  switch (request.op) {
    case 'create':
      return request.first === null ? 0 : appended(request.first);
    case 'snapshot':
      return request.body.length;
    case 'send':
      return request.message.length;
    case 'set':
    case 'push':
      return request.value.length;
    case 'exchange':
      return valuesOf(request.writes);
    case 'settle':
      return request.messages.reduce((sum, [, message]) => sum + message.length, 0);
    case 'enter':
      return request.entries.reduce((sum, [, value]) => sum + value.length, 0);
    case 'acquire':
    case 'dissolve':
    case 'release':
    case 'delete':
    case 'increment':
    case 'remove':
      return 0;
  }
}

const valuesOf = (writes: readonly (readonly [string, string, string | null, ...unknown[]])[]): number =>
  writes.reduce((sum, [, , value]) => sum + (value?.length ?? 0), 0);

const RETRY_MS = 10;

type OpenSettings = Pick<
  ThreadSettings,
  'path' | 'durability' | 'lockTimeoutMs' | 'maxPages' | 'mayOnlyRead'
>;

/**
 * Opens or makes the file and brings its schema up to date; or opens one for reading that cannot be written, where that
 * will do. Throws before anything is changed in a file not ours.
 */
export function openDatabase(settings: OpenSettings): OpenedDatabase {
  const { path, lockTimeoutMs, mayOnlyRead } = settings;
  try {
    return { db: openToWrite(settings) };
  } catch (error) {
    const isUnwritable = describeFailure(path, lockTimeoutMs, error).code === 'store_unwritable';
    if (!mayOnlyRead || !isUnwritable || !existsSync(path)) throw error;
    return openToRead(path, error);
  }
}

function openToWrite({ path, durability, lockTimeoutMs, maxPages }: OpenSettings): DatabaseSync {
  makePrivateFolder(dirname(path));
  inspectFile(path);
  refuseReadOnly(path);
  makePrivateFile(path);
  keepPrivate(path);
  const db = new DatabaseSync(path);
  try {
    db.exec(`PRAGMA busy_timeout = ${lockTimeoutMs}`);
    migrate(db, path);
    useWal(db, lockTimeoutMs);
    db.exec(`PRAGMA synchronous = ${durability === 'power' ? 'FULL' : 'NORMAL'}`);
    // On macOS an ordinary fsync leaves the data in the disk's cache.
    db.exec(`PRAGMA fullfsync = ${durability === 'power' ? 'ON' : 'OFF'}`);
    // Checkpoints are made when the thread is idle (`checkpoints.ts`), not by the commit that happens to be the 1000th.
    db.exec('PRAGMA wal_autocheckpoint = 0');
    if (maxPages !== null) db.exec(`PRAGMA max_page_count = ${maxPages}`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** SQLite would open it for reading only and fail at the first write. */
function refuseReadOnly(path: string): void {
  const target = existsSync(path) ? path : dirname(path);
  try {
    accessSync(target, constants.W_OK);
    accessSync(dirname(path), constants.W_OK);
  } catch (error) {
    throw storeUnwritable(path, 'this user may not write there', error);
  }
}

/** Two processes may do this at once: the second waits for the first's transaction and then finds nothing to do. */
function migrate(db: DatabaseSync, path: string): void {
  const found = versionOf(db, path);
  if (found === MIGRATIONS.length) return;
  if (found === 0) db.exec(`PRAGMA page_size = ${PAGE_BYTES}`);
  db.exec('BEGIN IMMEDIATE');
  try {
    const from = versionOf(db, path);
    for (const migration of MIGRATIONS.slice(from)) db.exec(migration);
    if (from === 0) db.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
    if (from < MIGRATIONS.length) db.exec(`PRAGMA user_version = ${MIGRATIONS.length}`);
    db.exec('COMMIT');
  } catch (error) {
    db.exec('ROLLBACK');
    throw error;
  }
}

function versionOf(db: DatabaseSync, path: string): number {
  const version = Number(db.prepare('PRAGMA user_version').get()?.user_version);
  if (version > MIGRATIONS.length) throw storeNewer(path, version, MIGRATIONS.length);
  return version;
}

/** Switching the journal's mode does not wait for others by itself. */
function useWal(db: DatabaseSync, lockTimeoutMs: number): void {
  const tries = Math.max(1, Math.ceil(lockTimeoutMs / RETRY_MS));
  for (let left = tries; ; left--) {
    try {
      db.exec('PRAGMA journal_mode = WAL');
      return;
    } catch (error) {
      if (!isBusy(error) || left === 0) throw error;
      pause(RETRY_MS);
    }
  }
}

export interface OpenedDatabase {
  readonly db: DatabaseSync;
  /** Asked behind each read: throws where what was read may be no state that the store ever had. */
  readonly mustBeAsFound?: () => void;
}

/**
 * Opens a file that cannot be written: on a read-only mount, or of somebody else. SQLite wants to make files beside it even
 * for that, unless those of a program that has it open, or that was killed, are there. Where it cannot and there is no
 * journal, all that was committed is in the file itself: it is then read as one that nobody changes, and looked at behind
 * each read whether that is so.
 */
function openToRead(path: string, refused: unknown): OpenedDatabase {
  try {
    return { db: opened(path, path) };
  } catch (error) {
    if (!wantsFiles(error)) throw error;
  }
  const asFound = stampOf(path);
  if (asFound === undefined) throw storeJournalHidden(path, refused);
  const mustBeAsFound = () => {
    if (stampOf(path) !== asFound) throw storeWritten(path);
  };
  return { db: opened(`${pathToFileURL(path).href}?immutable=1`, path), mustBeAsFound };
}

function opened(location: string, path: string): DatabaseSync {
  const db = new DatabaseSync(location, { readOnly: true });
  try {
    const version = Number(db.prepare('PRAGMA user_version').get()?.user_version);
    if (version !== MIGRATIONS.length)
      throw storeUnwritable(path, `it is of version ${version}, and has to be brought up to date to be read`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** What changes when somebody writes the file; undefined where a journal holds more than it. */
function stampOf(path: string): string | undefined {
  const journals = [`${path}-wal`, `${path}-journal`].map((name) =>
    statSync(name, { throwIfNoEntry: false }),
  );
  if (journals.some((journal) => journal !== undefined && journal.size > 0)) return undefined;
  const { ino, size, mtimeNs } = statSync(path, { bigint: true });
  return `${ino} ${size} ${mtimeNs}`;
}

/** READONLY, CANTOPEN: it may not make the files that it wants beside the store, or cannot. */
const WANTS_FILES = new Set([8, 14]);
const wantsFiles = (thrown: unknown): boolean =>
  thrown instanceof Error && 'errcode' in thrown && WANTS_FILES.has(Number(thrown.errcode) & 0xff);

/** The runtime's own folder: everything in it is private. */
const OWN_FOLDER = '.telltale';
const PRIVATE_FOLDER = 0o700;
const PRIVATE_FILE = 0o600;
/** What SQLite keeps next to a database. It takes the mode of the database for a file that it creates. */
const COMPANIONS = ['', '-wal', '-shm', '-journal'];

/**
 * Creates the folder of a store, with those it lies in, for this user alone. Not mkdir's `recursive`: in a file system
 * without mkdir, such as /proc, that never comes back.
 */
function makePrivateFolder(folder: string): void {
  if (existsSync(folder)) return;
  if (dirname(folder) !== folder) makePrivateFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: PRIVATE_FOLDER });
  } catch (error) {
    if (!existsSync(folder)) throw error; // else another process was quicker
  }
}

/**
 * Creates the file of a store, where there is none, so that nobody else can read it even before it has content. Only a
 * new file is opened: closing a descriptor of one that is in use would give up its locks.
 */
function makePrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', PRIVATE_FILE));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Takes away what others may do with an existing store and its folder, where they belong to this user. */
function keepPrivate(path: string): void {
  if (platform() === 'win32') return;
  for (const companion of COMPANIONS) restrict(path + companion, PRIVATE_FILE);
  const folder = dirname(path);
  if (basename(folder) !== OWN_FOLDER) return;
  restrict(folder, PRIVATE_FOLDER);
  for (const name of readdirSync(folder)) {
    const below = join(folder, name);
    const isFolder = lstatSync(below, { throwIfNoEntry: false })?.isDirectory() === true;
    restrict(below, isFolder ? PRIVATE_FOLDER : PRIVATE_FILE);
  }
}

/** Links are left alone: what they lead to may be somebody else's choice. */
function restrict(path: string, mode: number): void {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined || stats.isSymbolicLink() || stats.uid !== userInfo().uid) return;
  const allowed = stats.mode & mode;
  if ((stats.mode & 0o777) === allowed) return;
  try {
    chmodSync(path, allowed);
  } catch (error) {
    // Some file systems have no modes. The store is as private there as its disk is.
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!['ENOENT', 'ENOTSUP', 'ENOSYS', 'EPERM'].includes(code)) throw error;
  }
}
