import type { DatabaseSync } from 'node:sqlite';
import type { FileRecord, GraphCall, GraphChange, GraphStats, GraphSymbol } from '../../../graph.ts';
import { boundLimit, checkChange, checkFacts, checkNote } from '../../../graph-limits.ts';
import { checkName } from '../../../store-errors.ts';
import type { GraphRows } from '../graph-store.ts';
import { createCallRows } from './call-rows.ts';
import { decodeCalls, encodeCalls } from './encoded-calls.ts';
import { createFactRows, type FactRows } from './fact-rows.ts';
import {
  createFileRows,
  createSessionRows,
  type FileRows,
  type FileSpans,
  type KnownFile,
  prepareWrite,
  type SessionRows,
} from './file-rows.ts';
import { createSearchWords } from './search-words.ts';
import {
  createImportRows,
  createSymbolRows,
  type ImportRows,
  rememberRows,
  type SymbolRows,
} from './symbol-rows.ts';
import { indexedName, indexedText, tokenOf } from './words.ts';

export interface OpenRows extends GraphRows {
  /** Takes out some rows of graphs that were dropped; whether there are more. Within a transaction. */
  sweep(): boolean;
}

/** Of a graph that was dropped, in one transaction: some ten milliseconds. */
const FILES_A_SWEEP = 20;
const FACTS_A_SWEEP = 500;

/** Every operation on the tables, at once and on this thread. Those that write are called within a transaction. */
export function createGraphRows(db: DatabaseSync): OpenRows {
  const ids = createGraphIds(db);
  const files = createFileRows(db);
  const symbols = createSymbolRows(db, files);
  const imports = createImportRows(db);
  const remembered = rememberRows(db, { files, symbols, imports });
  const calls = createCallRows(db, remembered);
  const writes = createWriteFiles(db, files);
  const facts = createFactRows(db, files, symbols);
  const sessions = createSessionRows(db);
  const records = createFileRecords(db, { files, symbols, imports });
  const search = createSearchWords(db, facts.byId);
  const stats = createGraphStats(db, facts, sessions);
  const names = db.prepare('SELECT name FROM graph_graphs WHERE name IS NOT NULL ORDER BY name');
  const unname = prepareWrite(db, 'UPDATE graph_graphs SET name = NULL WHERE id = ?');
  const dropped = db.prepare('SELECT id FROM graph_graphs WHERE name IS NULL LIMIT 1');
  const forget = prepareWrite(db, 'DELETE FROM graph_graphs WHERE id = ?');
  const someFiles = db.prepare('SELECT id FROM graph_files WHERE graph = ? LIMIT ?');

  /** What a graph that is not there is asked for is `nothing`. */
  const within = <T>(graph: string, nothing: T, ask: (id: number) => T): T => {
    const id = ids.find(graph);
    return id === undefined ? nothing : ask(id);
  };
  const make = (graph: string) => {
    checkName('A graph', graph);
    return ids.make(graph);
  };

  return {
    files: (graph) => within(graph, [], files.all),
    write(graph, change) {
      checkChange(change);
      remembered.forget();
      writes.write(make(graph), change);
    },
    imports: (graph, after, limit) => within(graph, [], (id) => imports.all(id, after, boundLimit(limit))),
    resolve(graph, resolved) {
      remembered.forget();
      within(graph, undefined, (id) => imports.resolve(id, resolved));
    },
    search: (graph, words, { limit, kinds }) =>
      within(graph, [], (id) =>
        search(id, words, { limit: boundLimit(limit), ...(kinds === undefined ? {} : { kinds }) }),
      ),
    symbols: (graph, name, limit) => within(graph, [], (id) => symbols.named(id, name, boundLimit(limit))),
    symbolsOf: (graph, path, limit) => within(graph, [], (id) => symbols.ofFile(id, path, boundLimit(limit))),
    callersOf: (graph, symbol, limit) =>
      within(graph, [], (id) => calls.callers(id, symbol, boundLimit(limit))),
    calleesOf: (graph, symbol, limit) =>
      within(graph, [], (id) => calls.callees(id, symbol, boundLimit(limit))),
    importsOf: (graph, path, limit) =>
      within(graph, [], (id) => {
        const file = files.find(id, path);
        return file === undefined ? [] : imports.of(file, boundLimit(limit));
      }),
    importersOf: (graph, path, limit) => within(graph, [], (id) => imports.to(id, path, boundLimit(limit))),
    learn(graph, learned) {
      checkFacts(learned);
      return facts.learn(make(graph), learned);
    },
    factsAbout: (graph, about, limit) => within(graph, [], (id) => facts.about(id, about, boundLimit(limit))),
    facts: (graph, keys) => within(graph, [], (id) => facts.byKeys(id, keys)),
    noteSession(graph, note) {
      const checked = checkNote(note);
      sessions.note(make(graph), checked);
    },
    sessionsOf: (graph, path, limit) => within(graph, [], (id) => sessions.of(id, path, boundLimit(limit))),
    records: (graph, after, limit) => within(graph, [], (id) => records(id, after, boundLimit(limit))),
    learned: (graph, after, limit) => within(graph, [], (id) => facts.all(id, after, boundLimit(limit))),
    notes: (graph, after, limit) => within(graph, [], (id) => sessions.all(id, after, boundLimit(limit))),
    stats: (graph) => stats(ids.find(graph)),
    graphs: () => names.all().map(({ name }) => String(name)),
    drop: (graph) => within(graph, undefined, (id) => void unname.run(id)),
    sweep() {
      const row = dropped.get();
      if (row === undefined) return false;
      remembered.forget();
      const graph = Number(row.id);
      const some = someFiles.all(graph, FILES_A_SWEEP).flatMap(({ id }) => files.byId(Number(id)) ?? []);
      for (const file of some) writes.remove(file);
      const hasMore = facts.sweep(graph, FACTS_A_SWEEP);
      if (some.length === FILES_A_SWEEP || hasMore) return true;
      sessions.remove(graph);
      forget.run(graph);
      return true;
    },
  };
}

/** Graphs by name. */
export interface GraphIds {
  /** Undefined where there is none of that name. */
  find(graph: string): number | undefined;
  /** Makes it where there is none. */
  make(graph: string): number;
}

function createGraphIds(db: DatabaseSync): GraphIds {
  const find = db.prepare('SELECT id FROM graph_graphs WHERE name = ?');
  const make = prepareWrite(db, 'INSERT INTO graph_graphs (name) VALUES (?)');
  const byName = (graph: string) => {
    const row = find.get(graph);
    return row === undefined ? undefined : Number(row.id);
  };
  return {
    find: byName,
    make: (graph) => byName(graph) ?? Number(make.run(graph).lastInsertRowid),
  };
}

interface GraphRowsSources {
  readonly files: FileRows;
  readonly symbols: SymbolRows;
  readonly imports: ImportRows;
}

/** Files with all that is known of them, those behind a path: as they were written. */
function createFileRecords(
  db: DatabaseSync,
  { files, symbols, imports }: GraphRowsSources,
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

const NOTHING: GraphStats = {
  files: 0,
  symbols: 0,
  imports: 0,
  resolvedImports: 0,
  calls: 0,
  facts: 0,
  staleFacts: 0,
  sessions: 0,
  languages: {},
  notes: {},
};

/** Counts by the files' spans, not by their rows: some milliseconds for thousands of files. */
function createGraphStats(db: DatabaseSync, facts: FactRows, sessions: SessionRows) {
  const graphs = db.prepare('SELECT at_commit, walked_at FROM graph_graphs WHERE id = ?');
  const sums = db.prepare(
    `SELECT count(*) AS files, total(symbols_end - symbols) AS symbols, total(imports_end - imports) AS imports,
     total(calls) AS calls FROM graph_files WHERE graph = ?`,
  );
  const resolved = db.prepare(
    `SELECT total(t.n) AS n FROM (SELECT target, count(*) AS n FROM graph_imports WHERE graph = ? AND target IS NOT NULL
     GROUP BY target) t WHERE EXISTS (SELECT 1 FROM graph_files k WHERE k.graph = ? AND k.path = t.target)`,
  );
  const by = (column: 'language' | 'note') =>
    db.prepare(
      `SELECT ${column} AS name, count(*) AS n FROM graph_files WHERE graph = ? AND ${column} IS NOT NULL
       GROUP BY ${column} ORDER BY n DESC, name`,
    );
  const [languages, notes] = [by('language'), by('note')];
  const counts = (statement: ReturnType<typeof by>, graph: number) =>
    Object.fromEntries(statement.all(graph).map(({ name, n }) => [String(name), Number(n)]));

  return (graph: number | undefined): GraphStats => {
    if (graph === undefined) return NOTHING;
    const row = sums.get(graph);
    const { facts: held, stale } = facts.count(graph);
    const at = graphs.get(graph);
    return {
      files: Number(row?.files),
      symbols: Number(row?.symbols),
      imports: Number(row?.imports),
      resolvedImports: Number(resolved.get(graph, graph)?.n),
      calls: Number(row?.calls),
      facts: held,
      staleFacts: stale,
      sessions: sessions.count(graph),
      languages: counts(languages, graph),
      notes: counts(notes, graph),
      ...(at?.at_commit == null ? {} : { commit: String(at.at_commit) }),
      ...(at?.walked_at == null ? {} : { walkedAtMs: Number(at.walked_at) }),
    };
  };
}

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

interface GraphRowsNext {
  symbol: number;
  import: number;
}

function createWriteFiles(db: DatabaseSync, files: FileRows): WriteFiles {
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

  const put = (graph: number, record: FileRecord, at: GraphRowsNext) => {
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
        const at: GraphRowsNext = { symbol: Number(row?.symbol), import: Number(row?.import) };
        for (const record of records) put(graph, record, at);
        setNext.run(at.symbol, at.import);
      }
      if (commit !== undefined) setCommit.run(commit, graph);
      if (walkedAtMs !== undefined) setWalked.run(walkedAtMs, graph);
    },
  };
}
