import { readdirSync, readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { prepareWrite } from '../../src/store/sqlite/graph/thread/file-rows.ts';

const thread = new URL('../../src/store/sqlite/graph/thread/', import.meta.url);
const sqlite = new URL('../../src/store/sqlite/', import.meta.url);

test('a write tells of a row beyond 2^53 exactly', () => {
  const db = new DatabaseSync(':memory:');
  db.exec('CREATE TABLE t (id INTEGER PRIMARY KEY)');
  const { lastInsertRowid } = prepareWrite(db, 'INSERT INTO t VALUES (?)').run(2n ** 53n + 1n);
  expect(lastInsertRowid).toBe(9007199254740993n);
  db.close();
});

// SQLite remembers the last row of a connection, so that every statement behind one on the index of words tells of it.
test('everything that a graph runs is prepared so: Node 26 throws where a number cannot hold the row', () => {
  const texts = readdirSync(thread).map(
    (file) => [file, readFileSync(new URL(file, thread), 'utf8')] as const,
  );
  const run = texts.flatMap(([file, text]) =>
    [...text.matchAll(/\b(\w+)\.run\(/g)].map(([, name]) => ({ file, name, text })),
  );
  const plain = run.filter(({ name, text }) => text.includes(`const ${name} = db.prepare(`));
  expect(run.length).toBeGreaterThan(20);
  expect(plain.map(({ file, name }) => `${file}: ${name}`)).toEqual([]);
});

// Node 22.13 to 22.19, and 24.6, take `?1` for a name: what is given in order is bound to nothing.
test('no statement of the store has numbered parameters', () => {
  const files = readdirSync(sqlite, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  );
  const numbered = files.filter((file) => /\?\d/.test(readFileSync(new URL(file, sqlite), 'utf8')));
  expect(files.length).toBeGreaterThan(20);
  expect(numbered).toEqual([]);
});
