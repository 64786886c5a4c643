import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { type FileIdentity, isSameFile } from './examine-file.ts';

/** What the two threads share is one number. Whoever waits for it to change is woken. */
const STARTING = 0;
export const RESTING = 1;
export const ASKED = 2;
export const ENDING = 3;
export const ENDED = 4;

export interface CheckpointerSettings {
  readonly path: string;
  readonly durability: 'power' | 'process';
  /** The file that is the store's: another may have taken its name since. */
  readonly file: FileIdentity;
  readonly stage: Int32Array<SharedArrayBuffer>;
}

/** Makes a checkpoint whenever it is asked, until it is to end. Blocks its thread. */
export function serveCheckpoints(settings: CheckpointerSettings): void {
  const { stage } = settings;
  let db: DatabaseSync | undefined;
  try {
    if (Atomics.load(stage, 0) !== STARTING) return; // it is not needed after all
    db = open(settings);
    if (db === undefined) return;
    const checkpoint = db.prepare('PRAGMA wal_checkpoint(PASSIVE)');
    Atomics.compareExchange(stage, 0, STARTING, RESTING);
    for (;;) {
      while (Atomics.load(stage, 0) === RESTING) Atomics.wait(stage, 0, RESTING);
      if (Atomics.load(stage, 0) !== ASKED) return;
      try {
        checkpoint.get();
      } catch (error) {
        mustBeOfTheFile(error);
      }
      Atomics.compareExchange(stage, 0, ASKED, RESTING);
      Atomics.notify(stage, 0);
    }
  } catch (error) {
    mustBeOfTheFile(error);
  } finally {
    db?.close();
    Atomics.store(stage, 0, ENDED);
    Atomics.notify(stage, 0);
  }
}

/**
 * What is committed stays in the WAL, and the next checkpoint goes on from there, or the store's own thread. A disk that
 * stays full shows at the next commit, where somebody waits for it.
 */
function mustBeOfTheFile(error: unknown): void {
  if (!(error instanceof Error && 'errcode' in error)) throw error;
}

/** Makes no file where there is none any more, and leaves another alone that was put in its place. */
function open({ path, durability, file }: CheckpointerSettings): DatabaseSync | undefined {
  if (!isSameFile(path, file)) return undefined;
  // Node takes such a location from 22.15 on; before, there is no such file, and the store does without this thread.
  const db = new DatabaseSync(`${pathToFileURL(path).href}?mode=rw`);
  db.exec(`PRAGMA synchronous = ${durability === 'power' ? 'FULL' : 'NORMAL'}`);
  db.exec(`PRAGMA fullfsync = ${durability === 'power' ? 'ON' : 'OFF'}`);
  db.exec('PRAGMA wal_autocheckpoint = 0');
  db.prepare('PRAGMA user_version').get(); // has all its files open from here on
  if (isSameFile(path, file)) return db;
  db.close();
  return undefined;
}
