import type { DatabaseSync } from 'node:sqlite';
import type { GraphStats } from '../../../graph.ts';
import type { FactRows } from './fact-rows.ts';
import type { SessionRows } from './session-rows.ts';

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
export function createGraphStats(db: DatabaseSync, facts: FactRows, sessions: SessionRows) {
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
