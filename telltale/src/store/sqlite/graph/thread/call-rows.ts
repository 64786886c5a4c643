import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import type { FoundCall, FoundSymbol } from '../../../graph.ts';
import { type CallPlace, type CallResolver, createCallResolver } from './call-resolver.ts';
import { decodeCalls } from './encoded-calls.ts';
import type { KnownFile } from './file-rows.ts';
import { takes } from './import-rows.ts';
import { isTestPath } from './rank.ts';
import type { RememberedRows } from './remembered-rows.ts';
import { tokenOf } from './words.ts';

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
const MAX_HANDED_ON = 20;
const MAX_HOPS = 5;
/** Of them and of the name, looked at one by one. */
const MAX_NEAR = 300;
/** Files with calls of a name. */
const MAX_FILES = 3000;
/** Of them, looked at only because of the name: a common one stands in thousands that mean something else. */
const MAX_NAMESAKES = 60;
const MAX_NESTED = 10_000;

export function createCallRows(db: DatabaseSync, rows: RememberedRows): CallRows {
  const { files, symbols, imports } = rows;
  const callsOf = db.prepare('SELECT calls FROM graph_calls WHERE file = ?');
  const callers = db.prepare(
    `SELECT f.id FROM graph_call_words w CROSS JOIN graph_files f ON f.id = w.rowid
     WHERE graph_call_words MATCH ? AND f.graph = ? LIMIT ${MAX_FILES}`,
  );
  const after = db.prepare(
    `SELECT id, container FROM graph_symbols WHERE id > ? AND id < ? ORDER BY id LIMIT ${MAX_NESTED}`,
  );

  const calls = (file: KnownFile, fits: (name: string, from: number | null) => boolean): CallRow[] => {
    const row = callsOf.get(file.id);
    if (row === undefined) return [];
    return decodeCalls(String(row.calls), fits).map(({ name, receiver, line, from }) => {
      const origin = from === null ? null : file.symbols[0] + from;
      return { file, path: file.path, name, receiver, line, origin };
    });
  };

  const callsNamed = (file: KnownFile, name: string): readonly CallRow[] =>
    rows.keep(`c ${file.id} ${name}`, () => calls(file, (one) => one === name));
  /** What a call means does not depend on whose callers are looked for. */
  const resolverOf = (graph: number): CallResolver => {
    const resolver = createCallResolver(graph, rows);
    return {
      resolve: (call) =>
        rows.keep(`m ${call.file.id} ${call.name} ${call.receiver} ${call.origin}`, () =>
          resolver.resolve(call),
        ),
    };
  };

  /** The symbol's own file, then those that import it or what it stands in. */
  const filesNear = (graph: number, { path, name, within }: FoundSymbol): ReadonlySet<number> => {
    const own = files.find(graph, path);
    const near = new Set<number>(own === undefined ? [] : [own.id]);
    let edge = [path];
    const seen = new Set(edge);
    for (let hop = 0; hop < MAX_HOPS && edge.length > 0; hop++) {
      const next: string[] = [];
      for (const target of edge) {
        for (const file of imports.importers(graph, target, MAX_IMPORTERS - near.size)) near.add(file);
        for (const row of imports.handedOn(graph, target, MAX_HANDED_ON)) {
          if (seen.has(row.path) || !(takes(row, '*') || takes(row, within ?? name))) continue;
          seen.add(row.path);
          next.push(row.path);
        }
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
      rows.refresh();
      const resolver = resolverOf(graph);
      const [meant, sameName]: [CallRow[], CallRow[]] = [[], []];
      const sort = (call: CallRow) => {
        const verdict = judge(call, symbol, resolver);
        if (verdict === 'meant') meant.push(call);
        else if (verdict === 'same name') sameName.push(call);
      };
      const sortFile = (id: number) => {
        const file = files.byId(id);
        if (file !== undefined) callsNamed(file, symbol.name).forEach(sort);
      };
      const near = filesNear(graph, symbol);
      const named = rows.keep(
        `n ${graph} ${symbol.name}`,
        () => new Set(callers.all(`"${tokenOf(symbol.name)}"`, graph).map(({ id }) => Number(id))),
      );
      const isCut = named.size === MAX_FILES;
      let looked = 0;
      for (const id of near) {
        if (meant.length >= limit || looked >= MAX_NEAR) break;
        if (!named.has(id) && !isCut) continue;
        looked++;
        sortFile(id);
      }
      looked = 0;
      for (const id of meant.length < limit ? named : []) {
        if (looked >= MAX_NAMESAKES || meant.length + sameName.length >= 2 * limit) break;
        if (near.has(id)) continue;
        looked++;
        sortFile(id);
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
      rows.refresh();
      const file = files.find(graph, symbol.path);
      if (file === undefined || symbol.id < file.symbols[0] || symbol.id >= file.symbols[1]) return [];
      // What stands in a symbol comes right behind it.
      let end = symbol.id + 1;
      for (const { id, container } of after.iterate(symbol.id, file.symbols[1]) as Iterable<Row>) {
        if (container === null || Number(container) < symbol.id) break;
        end = Number(id) + 1;
      }
      const resolver = resolverOf(graph);
      const [first, last] = [symbol.id - file.symbols[0], end - file.symbols[0]];
      const own = calls(file, (_, from) => from !== null && from >= first && from < last);
      return own.slice(0, limit).map((call) => {
        const meaning = resolver.resolve(call);
        return found(call, meaning.kind === 'symbol' ? meaning.row.symbol : undefined);
      });
    },
  };
}
