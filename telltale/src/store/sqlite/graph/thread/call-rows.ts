import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import type { FoundCall, FoundSymbol } from '../../../graph.ts';
import { type CallPlace, type CallResolver, createCallResolver } from './call-resolver.ts';
import type { FileRows } from './file-rows.ts';
import { handsOn, type ImportRows } from './import-rows.ts';
import { isTestPath } from './rank.ts';
import type { SymbolRows } from './symbol-rows.ts';

type Row = Record<string, SQLOutputValue>;

interface CallRow extends CallPlace {
  readonly path: string;
  readonly line: number;
}

export interface CallRows {
  callers(graph: number, symbol: FoundSymbol, limit: number): readonly FoundCall[];
  callees(graph: number, symbol: FoundSymbol, limit: number): readonly FoundCall[];
}

/** Files that import the symbol's, over re-exports; those beyond are found by the name alone. */
const MAX_IMPORTERS = 1000;
const MAX_HOPS = 5;
/** Calls that are looked at because they have the name; a common one has thousands that mean something else. */
const MAX_NAMESAKES = 600;
const MAX_CALLS_A_FILE = 1000;
const MAX_NESTED = 10_000;

export function createCallRows(
  db: DatabaseSync,
  rows: { readonly files: FileRows; readonly symbols: SymbolRows; readonly imports: ImportRows },
): CallRows {
  const { files, symbols, imports } = rows;
  const select =
    'SELECT c.file, c.name, c.receiver, c.line, c.origin, f.path FROM graph_calls c JOIN graph_files f ON f.id = c.file';
  const inFile = db.prepare(
    `${select} WHERE c.graph = ? AND c.name = ? AND c.file = ? ORDER BY c.id LIMIT ${MAX_CALLS_A_FILE}`,
  );
  const named = db.prepare(`${select} WHERE c.graph = ? AND c.name = ? LIMIT ${MAX_NAMESAKES}`);
  const from = db.prepare(
    `${select} WHERE c.id >= ? AND c.id < ? AND c.origin >= ? AND c.origin < ? ORDER BY c.id LIMIT ?`,
  );
  const after = db.prepare(
    `SELECT id, container FROM graph_symbols WHERE id > ? AND id < ? ORDER BY id LIMIT ${MAX_NESTED}`,
  );

  /** The symbol's own file, then those that import it or what it stands in. */
  const filesNear = (graph: number, { path, name, within }: FoundSymbol): ReadonlySet<number> => {
    const own = files.find(graph, path);
    const near = new Set<number>(own === undefined ? [] : [own.id]);
    let edge = [path];
    const seen = new Set(edge);
    for (let hop = 0; hop < MAX_HOPS && edge.length > 0; hop++) {
      const next: string[] = [];
      for (const target of edge)
        for (const row of imports.to(graph, target, MAX_IMPORTERS)) {
          if (near.size >= MAX_IMPORTERS) return near;
          near.add(row.file);
          const names = row.names.includes('*') || row.names.includes(within ?? name);
          if (!handsOn(row) || !names || seen.has(row.path)) continue;
          seen.add(row.path);
          next.push(row.path);
        }
      edge = next;
    }
    return near;
  };

  const found = (call: CallRow, to: FoundSymbol | undefined): FoundCall => {
    const origin = call.origin === null ? undefined : symbols.byId(call.origin)?.symbol;
    return {
      path: call.path,
      line: call.line,
      name: call.name,
      ...(call.receiver === null ? {} : { receiver: call.receiver }),
      ...(origin === undefined ? {} : { from: origin }),
      ...(to === undefined ? {} : { to }),
      resolved: to !== undefined,
    };
  };

  /** A call that surely means another is left out; one that may, only has the name. */
  const judge = (call: CallRow, { path, name, within }: FoundSymbol, resolver: CallResolver) => {
    const meaning = resolver.resolve(call);
    if (meaning.kind === 'elsewhere') return 'another';
    if (meaning.kind === 'unknown') return 'same name';
    const { symbol, container } = meaning.row;
    if (symbol.path === path && symbol.name === name && symbol.within === within) return 'meant';
    // A call of an interface's method is one of those that implement it as well.
    const holder = container === null ? undefined : symbols.byId(container)?.symbol.kind;
    const isOpen = within !== undefined && (holder === 'interface' || holder === 'type');
    return meaning.sure && !isOpen ? 'another' : 'same name';
  };

  return {
    callers(graph, symbol, limit) {
      const resolver = createCallResolver(graph, rows);
      const [meant, sameName]: [CallRow[], CallRow[]] = [[], []];
      const sort = (call: CallRow) => {
        const verdict = judge(call, symbol, resolver);
        if (verdict === 'meant') meant.push(call);
        else if (verdict === 'same name') sameName.push(call);
      };
      const near = filesNear(graph, symbol);
      for (const file of near) {
        for (const row of inFile.all(graph, symbol.name, file)) sort(toCall(row));
        if (meant.length >= limit) break;
      }
      if (meant.length < limit)
        for (const row of named.iterate(graph, symbol.name)) {
          const call = toCall(row as Row);
          if (!near.has(call.file)) sort(call);
        }
      const isMember = symbol.kind === 'method' || symbol.kind === 'field';
      const fits = ({ receiver }: CallRow) => (receiver !== null) === isMember;
      const order = (a: CallRow, b: CallRow) =>
        Number(isTestPath(a.path)) - Number(isTestPath(b.path)) ||
        Number(fits(b)) - Number(fits(a)) ||
        (a.path < b.path ? -1 : a.path > b.path ? 1 : a.line - b.line);
      return [
        ...meant.sort(order).map((call) => [call, symbol] as const),
        ...sameName.sort(order).map((call) => [call, undefined] as const),
      ]
        .slice(0, limit)
        .map(([call, to]) => found(call, to));
    },
    callees(graph, symbol, limit) {
      const file = files.find(graph, symbol.path);
      if (file === undefined || symbol.id < file.symbols[0] || symbol.id >= file.symbols[1]) return [];
      // What stands in a symbol comes right behind it.
      let end = symbol.id + 1;
      for (const { id, container } of after.iterate(symbol.id, file.symbols[1]) as Iterable<Row>) {
        if (container === null || Number(container) < symbol.id) break;
        end = Number(id) + 1;
      }
      const resolver = createCallResolver(graph, rows);
      return from.all(...file.calls, symbol.id, end, limit).map((row) => {
        const call = toCall(row);
        const meaning = resolver.resolve(call);
        return found(call, meaning.kind === 'symbol' ? meaning.row.symbol : undefined);
      });
    },
  };
}

const toCall = (row: Row): CallRow => ({
  file: Number(row.file),
  path: String(row.path),
  name: String(row.name),
  receiver: row.receiver === null ? null : String(row.receiver),
  line: Number(row.line),
  origin: row.origin === null ? null : Number(row.origin),
});
