import type { DatabaseSync } from 'node:sqlite';
import type { FileRecord, GraphCall, GraphSymbol } from '../../../graph.ts';
import { decodeCalls } from './encoded-calls.ts';
import type { FileRows, KnownFile } from './file-rows.ts';
import type { ImportRows } from './import-rows.ts';
import type { SymbolRows } from './symbol-rows.ts';

interface Sources {
  readonly files: FileRows;
  readonly symbols: SymbolRows;
  readonly imports: ImportRows;
}

/** Files with all that is known of them, those behind a path: as they were written. */
export function createFileRecords(
  db: DatabaseSync,
  { files, symbols, imports }: Sources,
): (graph: number, after: string, limit: number) => readonly FileRecord[] {
  const callsOf = db.prepare('SELECT calls FROM graph_calls WHERE file = ?');

  const symbolsOf = (file: KnownFile): readonly GraphSymbol[] =>
    symbols.spanned(file).map(({ symbol, container }) => {
      const { id: _, path: _path, within: _within, ...own } = symbol;
      // A symbol's number is its place in the file, counted from the first one's.
      return container === null ? own : { ...own, container: container - file.symbols[0] };
    });
  const calls = ({ id }: KnownFile): readonly GraphCall[] => {
    const encoded = callsOf.get(id)?.calls;
    if (encoded === undefined) return [];
    return decodeCalls(String(encoded), () => true).map(({ name, receiver, line, from }) => ({
      name,
      line,
      ...(receiver === null ? {} : { receiver }),
      ...(from === null ? {} : { from }),
    }));
  };

  return (graph, after, limit) =>
    files.behind(graph, after, limit).flatMap((known) => {
      const file = files.find(graph, known.path);
      if (file === undefined) return [];
      const taken = imports.of(file, file.imports[1] - file.imports[0]);
      const own = taken.map(({ path: _, ...rest }) => rest);
      return [{ ...known, symbols: symbolsOf(file), imports: own, calls: calls(file) }];
    });
}
