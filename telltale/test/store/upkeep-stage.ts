import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach } from 'vitest';
import { createSimulatedClock, type SimulatedClock } from '../../src/lib/simulated-clock.ts';
import type { EventBody } from '../../src/log/event.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { Store } from '../../src/store/store.ts';
import { exportStore } from '../../src/store/upkeep/export-store.ts';
import { importStore } from '../../src/store/upkeep/import-store.ts';
import { readLines } from '../../src/store/upkeep/read-record.ts';
import { openInlineStore } from './open-inline-store.ts';
import { COMPLETED, keepRun, keepSession, thought } from './stored-logs.ts';
import { type TemporaryFolder, temporaryFolder } from './temporary-folder.ts';

/** Stores for tests of upkeep, closed and gone when each test has ended. */
export interface UpkeepStage {
  readonly clock: SimulatedClock;
  readonly folder: TemporaryFolder;
  inMemory(): Store;
  sqlite(path?: string, pid?: number): Store;
  exported(store: Store, options?: Partial<Parameters<typeof exportStore>[1]>): Promise<string>;
  imported(store: Store, text: string | Uint8Array, options?: object): ReturnType<typeof importStore>;
  /** A little of everything. */
  fill(store: Store): Promise<void>;
}

/** Changes a file behind the stores' backs. */
export const meddle = (store: Store, sql: string): void => {
  const db = new DatabaseSync(store.location.slice('sqlite:'.length));
  db.exec(sql);
  db.close();
};

async function* pieces(text: string | Uint8Array, size = 50_000): AsyncGenerator<Uint8Array> {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

export function setUpUpkeep(): UpkeepStage {
  let folder: TemporaryFolder;
  let clock: SimulatedClock;
  let opened: Store[];
  let files: number;
  beforeEach(async () => {
    folder = await temporaryFolder();
    clock = createSimulatedClock();
    opened = [];
    files = 0;
  });
  afterEach(async () => {
    for (const store of opened) await store.close();
    await folder.remove();
  });
  const opening = (store: Store): Store => {
    opened.push(store);
    return store;
  };
  return {
    get clock() {
      return clock;
    },
    get folder() {
      return folder;
    },
    inMemory: () => opening(createMemoryStore({ clock })),
    sqlite: (path = folder.path(`store${++files}.db`), pid?: number) =>
      opening(openInlineStore({ path, clock, ...(pid === undefined ? {} : { pid }) })),
    async exported(store, options = {}) {
      const pieces: string[] = [];
      for await (const piece of exportStore(store, { now: 0, ...options })) pieces.push(piece);
      return pieces.join('');
    },
    imported: (store, text, options = {}) =>
      importStore(store, readLines(pieces(text)), { clock, ...options }),
    async fill(store) {
      const many: readonly EventBody[] = Array.from({ length: 25 }, (_, n) => thought(`ü𝄞 ${n}`));
      await keepSession(store, 'ses_a', { bodies: [...many, COMPLETED], every: 10 });
      await clock.advance(5);
      await keepSession(store, 'ses_b', {
        bodies: many.slice(0, 3),
        head: { parent: 'ses_a', title: 'Called' },
      });
      await keepRun(store, 'run_a', { parent: 'ses_a' });
      await keepRun(store, 'run_w', {}, { type: 'workflow.waiting', for: 'a signal', due: 9_999_999 });
      await store.send('ses_b', { kind: 'steer', from: 'user', body: { left: ['ü', null] } });
      await store.tables.set('t', 'k', { n: [1, 'ü'] });
      await store.tables.set('t', 'soon', 1, { ttlMs: 60_000 });
      await store.tables.push('audit', { who: 'ann' });
      await clock.advance(5);
      await store.tables.push('audit', { who: 'bob' });
    },
  };
}
