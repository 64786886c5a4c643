import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import type { FoundCall, FoundSymbol } from '../../../graph.ts';
import { decodeCalls } from './encoded-calls.ts';
import type { FileRows, KnownFile } from './file-rows.ts';
import type { RememberedRows, SymbolRow, SymbolRows } from './symbol-rows.ts';
import { type ImportRow, type ImportRows, namesOf, naming, takes } from './symbol-rows.ts';
import { isTestPath, tokenOf } from './words.ts';

type CallRowsRow = Record<string, SQLOutputValue>;

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
      for (const { id, container } of after.iterate(symbol.id, file.symbols[1]) as Iterable<CallRowsRow>) {
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

/** A call as it stands in a file. */
export interface CallPlace {
  readonly file: KnownFile;
  readonly name: string;
  readonly receiver: string | null;
  /** The id of the symbol that it stands in. */
  readonly origin: number | null;
}

/**
 * What a call means: a symbol of the graph, for `sure` or as the only one at hand that fits; something `elsewhere`,
 * outside of the graph; or nothing that can be told from names.
 */
export type CallRowsMeaning =
  | { readonly kind: 'symbol'; readonly row: SymbolRow; readonly sure: boolean }
  | { readonly kind: 'elsewhere' }
  | { readonly kind: 'unknown' };

const UNKNOWN: CallRowsMeaning = { kind: 'unknown' };
const ELSEWHERE: CallRowsMeaning = { kind: 'elsewhere' };
/** Languages in which a folder is one scope. */
const PACKAGED = /\.(?:go|java)$/;
/** Re-exports that are followed one after the other. */
const CALL_RESOLVER_MAX_HOPS = 5;
/** Files that are looked into for one name: one that hands on all of many others has them tried one by one. */
const MAX_VISITED = 100;
const MAX_IMPORTS = 1000;
const MAX_NESTING = 64;

export interface CallResolver {
  resolve(call: CallPlace): CallRowsMeaning;
}

/** The rows may be remembered ones: it asks for the same again and again. */
function createCallResolver(
  graph: number,
  rows: {
    readonly files: Pick<FileRows, 'find' | 'beside'>;
    readonly symbols: Pick<SymbolRows, 'inFile' | 'byId'>;
    readonly imports: Pick<ImportRows, 'raw'>;
  },
): CallResolver {
  const { files, symbols, imports } = rows;
  const importsOf = (file: KnownFile): readonly ImportRow[] => imports.raw(file, MAX_IMPORTS);

  const packages = new Map<string, readonly SymbolRow[]>();
  /** What has a name in the other files of a package: in Go and Java these know each other without an import. */
  const inPackage = ({ path }: { readonly path: string }, name: string): readonly SymbolRow[] => {
    if (!PACKAGED.test(path)) return [];
    const key = `${path.slice(0, path.lastIndexOf('/') + 1)} ${name}`;
    let found = packages.get(key);
    if (found === undefined) {
      found = files.beside(graph, path).flatMap((each) => symbols.inFile(each, name));
      packages.set(key, found);
    }
    return found;
  };

  /** The symbols around a place, the innermost first. */
  const around = (origin: number | null): readonly number[] => {
    const ids: number[] = [];
    for (let id = origin; id !== null && ids.length < MAX_NESTING; id = symbols.byId(id)?.container ?? null)
      ids.push(id);
    return ids;
  };

  /** Looks for a name in a file, and in those from which it hands it on. `fits`: which symbols of that name count. */
  const follow = (
    path: string,
    name: string,
    taken: string,
    fits: (row: SymbolRow) => boolean,
    hops = 0,
    seen: Set<string> = new Set(),
  ): SymbolRow | undefined => {
    const file = files.find(graph, path);
    if (file === undefined || seen.has(path) || seen.size >= MAX_VISITED || hops >= CALL_RESOLVER_MAX_HOPS)
      return undefined;
    seen.add(path);
    const all = path.endsWith('.go') ? inPackage(file, name) : symbols.inFile(file, name);
    const own = all.filter(fits);
    const best = own.find(({ symbol }) => symbol.exported) ?? own[0];
    if (best !== undefined) return best;
    for (const row of naming(importsOf(file), taken)) {
      const { target } = row;
      if (target === undefined || !(takes(row, taken) || (row.reexport && takes(row, '*')))) continue;
      const found = follow(target, name, taken, fits, hops + 1, seen);
      if (found !== undefined) return found;
    }
    return undefined;
  };

  const alone = ({ file, name, origin }: CallPlace): CallRowsMeaning => {
    const chain = around(origin);
    const own = symbols.inFile(file, name);
    const near = nearest(own.filter(isPlain), chain);
    if (near !== undefined) return sure(near);
    const beside = inPackage(file, name).find(isTop);
    if (beside !== undefined) return sure(beside);
    const taken = naming(importsOf(file), name);
    for (const row of taken) {
      const { target } = row;
      if (!takes(row, name)) continue;
      if (target === undefined) return ELSEWHERE;
      // Java takes a method of a class by name.
      const found = follow(target, name, name, target.endsWith('.java') ? () => true : isPlain);
      return found === undefined ? UNKNOWN : sure(found);
    }
    const member = own.find(
      (row) => !isPlain(row) && row.container !== null && chain.includes(row.container),
    );
    if (member !== undefined) return sure(member);
    for (const row of taken) {
      const { target } = row;
      if (target === undefined || !(takes(row, '*') || takes(row, 'default'))) continue;
      const found = follow(target, name, name, isTop);
      if (found !== undefined) return sure(found);
    }
    return UNKNOWN;
  };

  const on = (receiver: string, { file, name, origin }: CallPlace): CallRowsMeaning => {
    const own = symbols.inFile(file, name);
    if (SELVES.has(receiver)) {
      const chain = around(origin);
      const member = own.find(({ container }) => container !== null && chain.includes(container));
      return member === undefined ? UNKNOWN : sure(member);
    }
    const inFile = own.find(({ symbol }) => symbol.within === receiver);
    if (inFile !== undefined) return sure(inFile);
    const taken = importsOf(file);
    for (const row of taken) {
      const { target, specifier } = row;
      if (!takes(row, receiver) && !(takes(row, '*') && isCalled(receiver, specifier))) continue;
      if (target === undefined) return ELSEWHERE;
      const member = follow(target, name, receiver, ({ symbol }) => symbol.within === receiver);
      const found = member ?? follow(target, name, '*', isTop);
      if (found !== undefined) return sure(found);
    }
    const near = inPackage(file, name);
    const beside = near.find(({ symbol }) => symbol.within === receiver);
    if (beside !== undefined) return sure(beside);
    const like =
      own.find(({ symbol }) => isLike(receiver, symbol.within)) ??
      likeAmong(taken, receiver, name) ??
      near.find(({ symbol }) => isLike(receiver, symbol.within));
    if (like !== undefined) return sure(like);
    for (const row of taken) {
      const { target } = row;
      if (target === undefined || !takes(row, '*')) continue;
      const found = follow(target, name, '*', isTop);
      if (found !== undefined) return { kind: 'symbol', row: found, sure: false };
    }
    return EVERYBODYS.has(name) ? UNKNOWN : onlyOne(own, taken, name);
  };

  /** `session.run()` in a file that imports anything from where `Session.run` is. */
  const likeAmong = (taken: readonly ImportRow[], receiver: string, name: string): SymbolRow | undefined => {
    for (const row of taken) {
      const { target } = row;
      if (target === undefined) continue;
      const fits = ({ symbol }: SymbolRow) => isLike(receiver, symbol.within);
      const type = namesOf(row).find((one) => isLike(receiver, one));
      const found = follow(target, name, type ?? '', fits);
      if (found !== undefined) return found;
    }
    return undefined;
  };

  /** The one class that the file defines or imports by name and that has such a method, if there is just one. */
  const onlyOne = (own: readonly SymbolRow[], taken: readonly ImportRow[], name: string): CallRowsMeaning => {
    const fitting = new Map<string, SymbolRow>();
    const note = (row: SymbolRow) => fitting.set(`${row.file} ${row.symbol.within}`, row);
    for (const row of own) if (!isPlain(row)) note(row);
    for (const row of taken) {
      const { target } = row;
      if (target === undefined) continue;
      for (const one of namesOf(row)) {
        const found = follow(target, name, one, ({ symbol }) => symbol.within === one);
        if (found !== undefined) note(found);
      }
    }
    const [only] = fitting.values();
    return only === undefined || fitting.size > 1 ? UNKNOWN : { kind: 'symbol', row: only, sure: false };
  };

  return {
    resolve: (call) => (call.receiver === null ? alone(call) : on(call.receiver, call)),
  };
}

const sure = (row: SymbolRow): CallRowsMeaning => ({ kind: 'symbol', row, sure: true });

/** Names by which code calls what it stands in. */
const SELVES: ReadonlySet<string> = new Set(['this', 'self', 'Self', 'cls', 'super']);

/** Methods of every language's own things: that a file knows a class with such a method says nothing of a call. */
const EVERYBODYS: ReadonlySet<string> = new Set(
  (
    'add all any append apply bind call catch clear clone close concat delete emit entries every extend filter find ' +
    'finally flat forEach format get has includes indexOf insert items iter join keys len length map match next on once ' +
    'open pop push read reduce remove replace reverse set shift size slice some sort splice split startsWith test then ' +
    'toString trim unwrap update values write'
  ).split(' '),
);

/** To be called by its name alone. */
const isPlain = ({ symbol }: SymbolRow): boolean =>
  symbol.kind !== 'method' && symbol.kind !== 'field' && symbol.kind !== 'heading';

const isTop = (row: SymbolRow): boolean => isPlain(row) && row.container === null;

/** The one whose scope is the closest around; of those beside each other the last, which hides the others. */
function nearest(rows: readonly SymbolRow[], chain: readonly number[]): SymbolRow | undefined {
  let best: SymbolRow | undefined;
  let depth = Number.POSITIVE_INFINITY;
  for (const row of rows) {
    const at = row.container === null ? chain.length : chain.indexOf(row.container);
    if (at >= 0 && at < depth) [best, depth] = [row, at];
  }
  return best;
}

/** `session` and `Session`, `_store` and `Store`. */
const isLike = (receiver: string, type: string | undefined): boolean =>
  type !== undefined && receiver.replace(/^[_$#]+/, '').toLowerCase() === type.toLowerCase();

/** `path` of `node:path`, `kernel` of `crate::kernel`, `words` of `./words.ts`. */
const isCalled = (receiver: string, specifier: string): boolean => {
  const last = specifier.split(/[/:]+/).at(-1) ?? '';
  return (
    last === receiver || last.replace(/\.[a-z]+$/, '') === receiver || last.split('.').at(-1) === receiver
  );
};
