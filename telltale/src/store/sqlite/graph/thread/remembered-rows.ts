import type { DatabaseSync } from 'node:sqlite';
import type { FileRows, KnownFile } from './file-rows.ts';
import type { ImportRow, ImportRows } from './import-rows.ts';
import type { SymbolRow, SymbolRows } from './symbol-rows.ts';

/** Rows that who resolves calls asks for. */
export interface CallSources {
  readonly files: Pick<FileRows, 'find' | 'byId' | 'beside'>;
  readonly symbols: Pick<SymbolRows, 'inFile' | 'byId'>;
  readonly imports: Pick<ImportRows, 'raw' | 'importers' | 'handedOn'>;
}

export interface RememberedRows extends CallSources {
  /** To be called before each question: forgets all where anybody has written meanwhile. */
  refresh(): void;
  /** And after each write of this connection's own, which it does not see by itself. */
  forget(): void;
  /** What is made once for as long as nothing is written. */
  keep<T>(key: string, make: () => T): T;
}

/** Some ten megabytes. What is asked in a row is about the same few files. */
const MAX_KEPT = 20_000;

/**
 * The same rows, each read once for as long as nothing is written: one answer is a dozen questions about the same
 * names, and to resolve a call asks for the same imports and symbols again and again. At 100,000 symbols that was three
 * quarters of the time.
 */
export function rememberRows(db: DatabaseSync, { files, symbols, imports }: CallSources): RememberedRows {
  const version = db.prepare('PRAGMA data_version');
  let seen = -1;
  let kept = new Map<string, unknown>();
  const keep = <T>(key: string, make: () => T): T => {
    if (kept.has(key)) return kept.get(key) as T;
    if (kept.size >= MAX_KEPT) kept = new Map();
    const made = make();
    kept.set(key, made);
    return made;
  };
  return {
    keep,
    refresh() {
      const now = Number(version.get()?.data_version);
      if (now !== seen) kept = new Map();
      seen = now;
    },
    forget() {
      kept = new Map();
    },
    files: {
      ...files,
      find: (graph, path) => keep<KnownFile | undefined>(`f ${graph} ${path}`, () => files.find(graph, path)),
      byId: (id) => keep<KnownFile | undefined>(`F ${id}`, () => files.byId(id)),
    },
    symbols: {
      inFile: (file, name) =>
        keep<readonly SymbolRow[]>(`s ${file.symbols.join()} ${name}`, () => symbols.inFile(file, name)),
      byId: (id) => keep<SymbolRow | undefined>(`S ${id}`, () => symbols.byId(id)),
    },
    imports: {
      ...imports,
      raw: (file, limit) => keep<readonly ImportRow[]>(`i ${file.id}`, () => imports.raw(file, limit)),
    },
  };
}
