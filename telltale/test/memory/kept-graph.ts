import type {
  FileRecord,
  GraphChange,
  GraphFile,
  GraphResolvedImport,
  GraphStore,
  KnownImport,
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
  const all = (): readonly KnownImport[] =>
    [...records.values()]
      .flatMap(({ path, imports }) => imports.map((each) => ({ path, ...each })))
      .map(({ path, specifier, names, target }, at) => ({
        id: at + 1,
        path,
        specifier,
        names,
        ...(target === undefined ? {} : { target }),
      }));
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
      imports: async (_graph, after, limit) => all().slice(after, after + limit),
      async resolve(_graph, resolved: readonly GraphResolvedImport[]) {
        const targets = new Map(resolved.map(({ id, target }) => [id, target]));
        const known = all();
        for (const record of records.values()) {
          const own = known.filter(({ path }) => path === record.path);
          const imports = record.imports.map(({ target: before, ...each }, at) => {
            const id = own[at]?.id ?? 0;
            const target = targets.has(id) ? targets.get(id) : before;
            return target === undefined ? each : { ...each, target };
          });
          records.set(record.path, { ...record, imports });
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
      records: none,
      learned: none,
      notes: none,
      stats: none,
      graphs: none,
      drop: none,
    },
  };
  return kept;
}
