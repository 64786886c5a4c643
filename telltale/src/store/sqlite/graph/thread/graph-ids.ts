import type { DatabaseSync } from 'node:sqlite';
import { prepareWrite } from './prepare-write.ts';

/** Graphs by name. */
export interface GraphIds {
  /** Undefined where there is none of that name. */
  find(graph: string): number | undefined;
  /** Makes it where there is none. */
  make(graph: string): number;
}

export function createGraphIds(db: DatabaseSync): GraphIds {
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
