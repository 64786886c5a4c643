import type { DatabaseSync } from 'node:sqlite';
import { boundLimit, checkChange, checkFacts, checkNote } from '../../../graph-limits.ts';
import { checkName } from '../../../limits.ts';
import type { GraphRows } from '../graph-messages.ts';
import { createCallRows } from './call-rows.ts';
import { createFactRows } from './fact-rows.ts';
import { createFileRecords } from './file-records.ts';
import { createFileRows } from './file-rows.ts';
import { createGraphIds } from './graph-ids.ts';
import { createGraphStats } from './graph-stats.ts';
import { createImportRows } from './import-rows.ts';
import { prepareWrite } from './prepare-write.ts';
import { rememberRows } from './remembered-rows.ts';
import { createSearchWords } from './search-words.ts';
import { createSessionRows } from './session-rows.ts';
import { createSymbolRows } from './symbol-rows.ts';
import { createWriteFiles } from './write-files.ts';

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
