/**
 * Rows of a file lie side by side: their ids are a range that the file's row names (`symbols` to `symbols_end`, …), so
 * that it is replaced without an index by file. Ids are never given twice (`graph_next`). Its calls are one row.
 *
 * Names are found through the words, `whole` and `graph_call_words`, and not by an index on a column: twenty files have
 * two thousand names, and each changed another page of such an index. FTS5 writes what is new in one piece, and the
 * journal is a fifth as long. The words have no content: they only lead to ids. `detail` leaves out positions, which
 * nothing asks for.
 */
const FIRST = `
CREATE TABLE graph_next (symbol INTEGER NOT NULL, import INTEGER NOT NULL);
INSERT INTO graph_next VALUES (1, 1);
CREATE TABLE graph_graphs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT UNIQUE,
  at_commit TEXT,
  walked_at REAL
);
CREATE TABLE graph_files (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  graph INTEGER NOT NULL,
  path TEXT NOT NULL,
  hash TEXT NOT NULL,
  size INTEGER NOT NULL,
  mtime REAL NOT NULL,
  read_at REAL NOT NULL,
  language TEXT,
  note TEXT,
  symbols INTEGER NOT NULL,
  symbols_end INTEGER NOT NULL,
  imports INTEGER NOT NULL,
  imports_end INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  UNIQUE (graph, path)
);
CREATE TABLE graph_symbols (
  id INTEGER PRIMARY KEY,
  graph INTEGER NOT NULL,
  file INTEGER NOT NULL,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  line INTEGER NOT NULL,
  end_line INTEGER NOT NULL,
  signature TEXT NOT NULL,
  exported INTEGER NOT NULL,
  container INTEGER,
  within TEXT,
  doc TEXT
);
CREATE TABLE graph_imports (
  id INTEGER PRIMARY KEY,
  graph INTEGER NOT NULL,
  file INTEGER NOT NULL,
  specifier TEXT NOT NULL,
  line INTEGER NOT NULL,
  names TEXT NOT NULL,
  reexport INTEGER NOT NULL,
  target TEXT
);
CREATE INDEX graph_imports_by_target ON graph_imports (graph, target, file);
CREATE TABLE graph_calls (file INTEGER PRIMARY KEY, calls TEXT NOT NULL);
CREATE TABLE graph_facts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  graph INTEGER NOT NULL,
  key TEXT NOT NULL,
  kind TEXT NOT NULL,
  text TEXT NOT NULL,
  about TEXT NOT NULL,
  session TEXT,
  at_commit TEXT,
  at REAL NOT NULL,
  supersedes TEXT NOT NULL,
  superseded INTEGER NOT NULL,
  UNIQUE (graph, key)
);
CREATE TABLE graph_fact_subjects (
  fact INTEGER NOT NULL,
  graph INTEGER NOT NULL,
  path TEXT,
  symbol TEXT
);
CREATE INDEX graph_fact_subjects_by_fact ON graph_fact_subjects (fact);
CREATE INDEX graph_fact_subjects_by_path ON graph_fact_subjects (graph, path) WHERE path IS NOT NULL;
CREATE INDEX graph_fact_subjects_by_symbol ON graph_fact_subjects (graph, symbol) WHERE symbol IS NOT NULL;
CREATE TABLE graph_fact_files (
  fact INTEGER NOT NULL,
  path TEXT NOT NULL,
  hash TEXT,
  PRIMARY KEY (fact, path)
) WITHOUT ROWID;
CREATE TABLE graph_sessions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  graph INTEGER NOT NULL,
  session TEXT NOT NULL,
  title TEXT NOT NULL,
  at REAL NOT NULL,
  at_commit TEXT,
  UNIQUE (graph, session)
);
CREATE TABLE graph_session_files (
  graph INTEGER NOT NULL,
  path TEXT NOT NULL,
  session INTEGER NOT NULL,
  changed INTEGER NOT NULL,
  PRIMARY KEY (graph, path, session)
) WITHOUT ROWID;
CREATE VIRTUAL TABLE graph_call_words USING fts5 (
  names, content='', contentless_delete=1, detail=none, tokenize='unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE graph_symbol_words USING fts5 (
  whole, name, text, content='', contentless_delete=1, detail=column, tokenize='unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE graph_file_words USING fts5 (
  whole, name, text, content='', contentless_delete=1, detail=column, tokenize='unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE graph_fact_words USING fts5 (
  whole, name, text, content='', contentless_delete=1, detail=column, tokenize='unicode61 remove_diacritics 2'
);
`;

/** The n-th brings the graphs of a store from version n to n + 1. Only ever add to the end. */
export const GRAPH_MIGRATIONS: readonly string[] = [FIRST];
