import type { DatabaseSync } from 'node:sqlite';
import type { FileRecord, GraphChange } from '../../../graph.ts';
import { encodeCalls } from './encoded-calls.ts';
import type { FileRows, FileSpans, KnownFile } from './file-rows.ts';
import { prepareWrite } from './prepare-write.ts';
import { indexedName, indexedText, tokenOf } from './words.ts';

/** What is longer than this is cut: names and signatures are for finding and showing, not for keeping. */
const NAME_CHARS = 256;
const TEXT_CHARS = 500;
/** Of a signature and a comment, as they go into the index. */
const TEXT_WORDS = 40;
const NAME_WORDS = 12;
const IMPORTED_NAMES = 1000;

/** Replaces what is known of files. Called within a transaction. */
export interface WriteFiles {
  write(graph: number, change: GraphChange): void;
  /** Takes a file out with all its rows; the cost is that of its own rows. */
  remove(file: KnownFile): void;
}

interface Next {
  symbol: number;
  import: number;
}

export function createWriteFiles(db: DatabaseSync, files: FileRows): WriteFiles {
  const next = db.prepare('SELECT symbol, import FROM graph_next');
  const setNext = prepareWrite(db, 'UPDATE graph_next SET symbol = ?, import = ?');
  const setCommit = prepareWrite(db, 'UPDATE graph_graphs SET at_commit = ? WHERE id = ?');
  const setWalked = prepareWrite(db, 'UPDATE graph_graphs SET walked_at = ? WHERE id = ?');
  const addSymbol = prepareWrite(
    db,
    `INSERT INTO graph_symbols (id, graph, file, name, kind, line, end_line, signature, exported, container, within, doc)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const addWords = prepareWrite(
    db,
    'INSERT INTO graph_symbol_words (rowid, whole, name, text) VALUES (?, ?, ?, ?)',
  );
  const addImport = prepareWrite(
    db,
    'INSERT INTO graph_imports (id, graph, file, specifier, line, names, reexport, target) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
  );
  const addCalls = prepareWrite(db, 'INSERT INTO graph_calls (file, calls) VALUES (?, ?)');
  const addCallWords = prepareWrite(db, 'INSERT INTO graph_call_words (rowid, names) VALUES (?, ?)');
  const removeSymbols = prepareWrite(db, 'DELETE FROM graph_symbols WHERE id >= ? AND id < ?');
  const removeWords = prepareWrite(db, 'DELETE FROM graph_symbol_words WHERE rowid = ?');
  const removeImports = prepareWrite(db, 'DELETE FROM graph_imports WHERE id >= ? AND id < ?');
  const removeCalls = prepareWrite(db, 'DELETE FROM graph_calls WHERE file = ?');
  const removeCallWords = prepareWrite(db, 'DELETE FROM graph_call_words WHERE rowid = ?');

  const clear = ({ id: file, symbols, imports }: KnownFile) => {
    for (let id = symbols[0]; id < symbols[1]; id++) removeWords.run(id);
    removeSymbols.run(...symbols);
    removeImports.run(...imports);
    removeCalls.run(file);
    removeCallWords.run(file);
  };

  const put = (graph: number, record: FileRecord, at: Next) => {
    const before = files.find(graph, record.path);
    if (before !== undefined) clear(before);
    const { symbols, imports, calls } = record;
    const first = at.symbol;
    const spans: FileSpans = {
      symbols: [first, first + symbols.length],
      imports: [at.import, at.import + imports.length],
    };
    const file = files.put(graph, record, spans, calls.length, before);
    for (const [
      place,
      { name, kind, line, endLine, signature, exported, container, doc },
    ] of symbols.entries()) {
      const holder = container !== undefined && container < place ? symbols[container] : undefined;
      const [head, comment] = [signature.slice(0, TEXT_CHARS), doc?.slice(0, TEXT_CHARS) ?? null];
      addSymbol.run(
        at.symbol,
        graph,
        file,
        name.slice(0, NAME_CHARS),
        kind,
        line,
        endLine,
        head,
        exported ? 1 : 0,
        holder === undefined ? null : first + (container ?? 0),
        holder?.name.slice(0, NAME_CHARS) ?? null,
        comment,
      );
      const text = `${holder?.name ?? ''} ${head} ${comment ?? ''}`;
      const [whole, parts] = indexedName(name, NAME_WORDS);
      addWords.run(at.symbol, `${tokenOf(name)}${whole}`, parts, indexedText(text, TEXT_WORDS, name));
      at.symbol++;
    }
    for (const { specifier, line, names, reexport, target } of imports) {
      const taken = JSON.stringify(names.slice(0, IMPORTED_NAMES));
      const path = specifier.slice(0, TEXT_CHARS);
      addImport.run(at.import++, graph, file, path, line, taken, reexport === true ? 1 : 0, target ?? null);
    }
    if (calls.length === 0) return;
    addCalls.run(file, encodeCalls(calls, symbols.length));
    addCallWords.run(file, [...new Set(calls.map(({ name }) => tokenOf(name)))].join(' '));
  };

  const remove = (file: KnownFile) => {
    clear(file);
    files.remove(file.id);
  };

  return {
    remove,
    write(graph, { records = [], removed = [], touched = [], commit, walkedAtMs }) {
      for (const path of removed) {
        const file = files.find(graph, path);
        if (file !== undefined) remove(file);
      }
      for (const file of touched) files.touch(graph, file);
      if (records.length > 0) {
        const row = next.get();
        const at: Next = { symbol: Number(row?.symbol), import: Number(row?.import) };
        for (const record of records) put(graph, record, at);
        setNext.run(at.symbol, at.import);
      }
      if (commit !== undefined) setCommit.run(commit, graph);
      if (walkedAtMs !== undefined) setWalked.run(walkedAtMs, graph);
    },
  };
}
