/** "tltl": marks a SQLite file as ours. */
export const APPLICATION_ID = 0x746c746c;

/**
 * A row of `log` is an append, not an event: `body` is its encoded events, a line each. Rows lie in the order in which
 * they were written, whatever their stream, so that a group commit of a hundred streams writes a handful of pages;
 * clustered by stream it wrote a hundred, at five times the cost. `prev` leads to the stream's row before; every 64th
 * is noted in `marks`, from where a range is found (`read-stream.ts`).
 *
 * `heads` holds what changes with each append, apart from what does not, so that many of its rows share a page.
 */
const FIRST = `
CREATE TABLE streams (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  stream TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  title TEXT NOT NULL,
  parent TEXT,
  created_at INTEGER NOT NULL
);
CREATE TABLE heads (
  id INTEGER PRIMARY KEY,
  epoch INTEGER NOT NULL,
  owner INTEGER,
  head INTEGER NOT NULL,
  last INTEGER NOT NULL,
  rows INTEGER NOT NULL,
  status TEXT NOT NULL,
  updated_at INTEGER NOT NULL
);
CREATE INDEX heads_by_status ON heads (status, id);
CREATE INDEX heads_by_owner ON heads (owner) WHERE owner IS NOT NULL;
CREATE TABLE log (
  id INTEGER PRIMARY KEY,
  stream INTEGER NOT NULL,
  first INTEGER NOT NULL,
  count INTEGER NOT NULL,
  prev INTEGER NOT NULL,
  body TEXT NOT NULL
);
CREATE TABLE marks (
  stream INTEGER NOT NULL,
  first INTEGER NOT NULL,
  prev INTEGER NOT NULL,
  PRIMARY KEY (stream, first)
) WITHOUT ROWID;
CREATE TABLE snapshots (
  stream INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (stream, seq)
);
CREATE TABLE owners (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  pid INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  place TEXT NOT NULL,
  doorbell TEXT NOT NULL,
  beat_at INTEGER NOT NULL
);
CREATE TABLE inbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  stream INTEGER NOT NULL,
  at INTEGER NOT NULL,
  message TEXT NOT NULL
);
CREATE INDEX inbox_by_stream ON inbox (stream, id);
CREATE TABLE kv (
  tab TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  expires_at INTEGER,
  PRIMARY KEY (tab, key)
) WITHOUT ROWID;
CREATE INDEX kv_by_expiry ON kv (expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE lists (
  list TEXT NOT NULL,
  n INTEGER NOT NULL,
  at INTEGER NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (list, n)
) WITHOUT ROWID;
`;

/** For lists of one kind, of one agent or workflow, and of what a stream called or set off, newest first. */
const LISTS = `
CREATE INDEX streams_by_name ON streams (kind, name, id);
CREATE INDEX streams_by_kind ON streams (kind, id);
CREATE INDEX streams_by_parent ON streams (parent, id) WHERE parent IS NOT NULL;
`;

/** When a stream that waits is to be worked on again: so that nobody has to read its log to know. */
const DUE = 'ALTER TABLE heads ADD COLUMN due_at INTEGER;';

/** Checksums of a row's events (`checksums.ts`). Null in rows of versions that wrote none. */
const SUMS = 'ALTER TABLE log ADD COLUMN sums TEXT;';

/** The n-th brings a store from version n to n + 1. Only ever add to the end. */
export const MIGRATIONS: readonly string[] = [FIRST, LISTS, DUE, SUMS];
