import type { DatabaseSync } from 'node:sqlite';
import { PAGE_BYTES } from './page-bytes.ts';

/** Bytes in the WAL, about, from which a pause is used to bring them into the file. */
const WORTHWHILE = 1024 * 1024;
/**
 * From which no pause is waited for. While the WAL's file grows a commit takes twice as long (350 against 180 µs
 * measured: the new size has to be on disk, too), and it grows until the first checkpoint.
 */
const OVERDUE = 4 * 1024 * 1024;
const PAUSE_MS = 50;
/** A page of the heads and one of the log, even for a small append. */
const BYTES_A_COMMIT = 2 * PAGE_BYTES;

/** Brings the WAL into the file when nobody waits for a commit: the work of a thousand pages is ten milliseconds. */
export interface Checkpoints {
  committed(chars: number): void;
  stop(): void;
}

/** `overdue` is for those whose commits nobody waits for: a large one saves writing the same pages again and again. */
export function createCheckpoints(db: DatabaseSync, overdue = OVERDUE): Checkpoints {
  const checkpoint = db.prepare('PRAGMA wal_checkpoint(PASSIVE)');
  let bytes = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const run = () => {
    timer = undefined;
    bytes = 0;
    try {
      checkpoint.get();
    } catch (error) {
      // What is committed stays in the WAL, and the next attempt goes on from there. A disk that stays full shows at
      // the next commit, where somebody waits for it.
      if (!(error instanceof Error && 'errcode' in error)) throw error;
    }
  };

  return {
    committed(chars) {
      bytes += chars + BYTES_A_COMMIT;
      if (bytes < WORTHWHILE) return;
      if (bytes >= overdue) {
        clearTimeout(timer);
        run();
      } else if (timer === undefined) timer = setTimeout(run, PAUSE_MS);
      else timer.refresh();
    },
    stop: () => clearTimeout(timer),
  };
}
