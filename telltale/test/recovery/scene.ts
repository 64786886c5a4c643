import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSystemClock } from '../../src/lib/clock.ts';
import { decodeEvent } from '../../src/log/codec.ts';
import type { SessionEvent } from '../../src/log/event.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite-store.ts';
import { journalIn } from './lab-tools.ts';

export interface JournalLine {
  readonly what: 'start' | 'done';
  readonly tool: string;
  readonly session: string;
  readonly id: string;
}

/** What a dead process left behind. */
export interface Scene {
  readonly log: readonly SessionEvent[];
  /** How many lines the journal had. */
  readonly journalLength: number;
}

export async function inspectScene(folder: string, session: string): Promise<Scene> {
  const store = await openSqliteStore({
    path: join(folder, 'store.db'),
    durability: 'process',
    clock: createSystemClock(),
    pid: process.pid,
  });
  try {
    // It may have died before there was a stream.
    const lines = (await store.info(session)) === undefined ? [] : await store.read(session);
    const log = lines.map((line) => decodeEvent(line, session));
    return { log, journalLength: readJournal(folder).length };
  } finally {
    await store.close();
  }
}

export function readJournal(folder: string): readonly JournalLine[] {
  const file = journalIn(folder);
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [what, tool = '', key = ''] = line.split(' ');
      if (what !== 'start' && what !== 'done') throw new Error(`The journal holds the line "${line}".`);
      const [session = '', id = ''] = key.split(':');
      return { what, tool, session, id };
    });
}
