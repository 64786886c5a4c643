import type {
  FileRecord,
  GraphChange,
  GraphFile,
  GraphStore,
  KnownImport,
  ResolvedImport,
} from '../../src/store/graph.ts';

/** The tables of graphs as far as indexing needs them, and what was written to them. */
export interface KeptGraph {
  readonly store: GraphStore;
  readonly records: Map<string, FileRecord>;
  readonly changes: GraphChange[];
  /** Called before each write; what it throws is what the write rejects with. */
  beforeWrite: (change: GraphChange) => void | Promise<void>;
}

export function keptGraph(): KeptGraph {
  const records = new Map<string, FileRecord>();
  const changes: GraphChange[] = [];
  const none = () => Promise.reject(new Error('Not a part of indexing.'));
  const kept: KeptGraph = {
    records,
    changes,
    beforeWrite: () => undefined,
    store: {
      files: async () =>
        [...records.values()].map(({ symbols: _s, imports: _i, calls: _c, ...file }): GraphFile => file),
      async write(_graph, change) {
        await kept.beforeWrite(change);
        changes.push(change);
        for (const record of change.records ?? []) records.set(record.path, record);
        for (const path of change.removed ?? []) records.delete(path);
        for (const file of change.touched ?? []) {
          const before = records.get(file.path);
          if (before !== undefined) records.set(file.path, { ...before, ...file });
        }
      },
      imports: async (_graph, after, limit) =>
        [...records.values()]
          .flatMap(({ path, imports }) => imports.map((each) => ({ path, ...each })))
          .map(
            ({ path, specifier, target }, at): KnownImport => ({
              ...{ id: at + 1, path, specifier },
              ...(target === undefined ? {} : { target }),
            }),
          )
          .slice(after, after + limit),
      async resolve(_graph, resolved: readonly ResolvedImport[]) {
        for (const { path, specifier, target } of resolved) {
          const record = records.get(path);
          if (record === undefined) continue;
          const imports = record.imports.map(({ target: before, ...each }) => {
            const now = each.specifier === specifier ? target : before;
            return now === undefined ? each : { ...each, target: now };
          });
          records.set(path, { ...record, imports });
        }
      },
      search: none,
      symbols: none,
      symbolsOf: none,
      callersOf: none,
      calleesOf: none,
      importsOf: none,
      importersOf: none,
      learn: none,
      factsAbout: none,
      facts: none,
      noteSession: none,
      sessionsOf: none,
      stats: none,
      graphs: none,
      drop: none,
    },
  };
  return kept;
}
