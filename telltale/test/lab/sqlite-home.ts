import { closeSync, cpSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type LabHome, sleepMs } from './lab-home.ts';
import type { Leash } from './open-leash.ts';

/** Room for the store of a round, with its journal of writes. */
const DISK_MB = 48;
const FILL_BYTES = 256 * 1024;

/** A SQLite file on a disk of its own, where that may be had. */
export async function openSqliteHome(folder: string, leash: Leash): Promise<LabHome> {
  const disk = join(folder, 'disk');
  mkdirSync(disk);
  const mounted = await leash.mount(disk, DISK_MB);
  const path = join(disk, 'store.db');
  const filler = join(disk, 'filler');
  const url = `sqlite:${path}`;
  return {
    kind: 'sqlite',
    direct: url,
    leaseMs: 1_500,
    urlFor: () => url,
    without: mounted === undefined ? ['disk-full'] : [],
    async harm({ kind, ms }) {
      if (kind === 'disk-full') {
        fill(filler);
        await sleepMs(ms);
        rmSync(filler);
      } else if (kind === 'lock') await lock(path, ms);
    },
    async close(keep) {
      if (mounted === undefined) return;
      rmSync(filler, { force: true });
      if (keep) cpSync(disk, join(folder, 'store'), { recursive: true });
      await mounted.unmount();
    },
  };
}

/** Until nothing fits any more. */
function fill(path: string): void {
  const file = openSync(path, 'w');
  try {
    for (let size = FILL_BYTES; size >= 1; size = Math.floor(size / 2))
      try {
        for (;;) writeSync(file, Buffer.alloc(size));
      } catch (thrown) {
        if ((thrown as NodeJS.ErrnoException).code !== 'ENOSPC') throw thrown;
      }
  } finally {
    closeSync(file);
  }
}

/** Holds the file as a program does that writes for long. */
async function lock(path: string, ms: number): Promise<void> {
  const database = new DatabaseSync(path, { timeout: 5_000 });
  try {
    database.exec('BEGIN IMMEDIATE');
    await sleepMs(ms);
    database.exec('ROLLBACK');
  } finally {
    database.close();
  }
}
