import { EVERYBODYS, isCalled, isLike, isPlain, isTop, nearest, SELVES } from './call-names.ts';
import type { FileRows, KnownFile } from './file-rows.ts';
import { type ImportRow, type ImportRows, namesOf, naming, takes } from './import-rows.ts';
import type { SymbolRow, SymbolRows } from './symbol-rows.ts';

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
export type Meaning =
  | { readonly kind: 'symbol'; readonly row: SymbolRow; readonly sure: boolean }
  | { readonly kind: 'elsewhere' }
  | { readonly kind: 'unknown' };

const UNKNOWN: Meaning = { kind: 'unknown' };
const ELSEWHERE: Meaning = { kind: 'elsewhere' };
/** Languages in which a folder is one scope. */
const PACKAGED = /\.(?:go|java)$/;
/** Re-exports that are followed one after the other. */
const MAX_HOPS = 5;
/** Files that are looked into for one name: one that hands on all of many others has them tried one by one. */
const MAX_VISITED = 100;
const MAX_IMPORTS = 1000;
const MAX_NESTING = 64;

export interface CallResolver {
  resolve(call: CallPlace): Meaning;
}

/** The rows may be remembered ones: it asks for the same again and again. */
export function createCallResolver(
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
    if (file === undefined || seen.has(path) || seen.size >= MAX_VISITED || hops >= MAX_HOPS)
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

  const alone = ({ file, name, origin }: CallPlace): Meaning => {
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

  const on = (receiver: string, { file, name, origin }: CallPlace): Meaning => {
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
  const onlyOne = (own: readonly SymbolRow[], taken: readonly ImportRow[], name: string): Meaning => {
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

const sure = (row: SymbolRow): Meaning => ({ kind: 'symbol', row, sure: true });
