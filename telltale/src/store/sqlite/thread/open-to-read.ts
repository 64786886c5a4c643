import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { storeJournalHidden, storeUnwritable, storeWritten } from '../sqlite-errors.ts';
import { MIGRATIONS } from './migrations.ts';

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
export function openToRead(path: string, refused: unknown): OpenedDatabase {
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
