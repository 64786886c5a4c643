/**
 * The tables of knowledge graphs: what a folder's files define, import and call, and what was learned about them. One
 * contract suite holds for every home of it. `graph` names a graph; graphs know nothing of each other.
 */
export interface GraphStore {
  /** The files that are known, by path. */
  files(graph: string): Promise<readonly GraphFile[]>;
  /**
   * All of it or nothing, and in one commit: what was known of these paths before is gone. The log's own commits wait
   * for it, so files are written in batches: some 2,000 symbols, imports and calls, twenty files of a usual size, keep
   * a commit below 50 ms. Refused with `graph_change_too_large` where one is a matter of minutes.
   */
  write(graph: string, change: GraphChange): Promise<void>;
  /** All imports, at most `limit` behind the one with the id `after` (0 for the first), by id. */
  imports(graph: string, after: number, limit: number): Promise<readonly KnownImport[]>;
  /** Says where imports lead; without a `target`, nowhere. */
  resolve(graph: string, resolved: readonly GraphResolvedImport[]): Promise<void>;

  /** Symbols, files, facts and headings whose words match, the best first. Any text is a query; none is an error. */
  search(
    graph: string,
    words: string,
    options: { readonly limit: number; readonly kinds?: readonly FoundKind[] },
  ): Promise<readonly Found[]>;
  /** Symbols by name (`run`, `Session.run`), exactly; then, where there is none, in any case. */
  symbols(graph: string, name: string, limit: number): Promise<readonly FoundSymbol[]>;
  /** What a file defines, in order. */
  symbolsOf(graph: string, path: string, limit: number): Promise<readonly FoundSymbol[]>;
  /** Calls of that name, those that are known to mean the symbol first (`resolved`). */
  callersOf(graph: string, symbol: FoundSymbol, limit: number): Promise<readonly FoundCall[]>;
  /** What a symbol calls, with the symbols of the graph that are meant where that is known. */
  calleesOf(graph: string, symbol: FoundSymbol, limit: number): Promise<readonly FoundCall[]>;
  importsOf(graph: string, path: string, limit: number): Promise<readonly FoundImport[]>;
  importersOf(graph: string, path: string, limit: number): Promise<readonly FoundImport[]>;

  /**
   * Adds facts, all or none. One that says the same of the same subjects is renewed, and holds again where it was
   * superseded. Gives their ids, in order. Refused with `fact_malformed`, `fact_unknown` (it supersedes one that is not
   * there) or `facts_full`.
   */
  learn(graph: string, facts: readonly NewFact[]): Promise<readonly string[]>;
  /** Facts about a path or a symbol, the newest first; those that others supersede are left out. */
  factsAbout(graph: string, about: FactSubject, limit: number): Promise<readonly Fact[]>;
  facts(graph: string, ids: readonly string[]): Promise<readonly Fact[]>;
  /** What a session read and changed. The same session again adds to it. */
  noteSession(graph: string, session: SessionNote): Promise<void>;
  /** Sessions that read or changed a file, the newest first. */
  sessionsOf(graph: string, path: string, limit: number): Promise<readonly FoundSession[]>;

  /** All that is known of files, those behind the path `after`, in order: what `write` takes. */
  records(graph: string, after: string, limit: number): Promise<readonly FileRecord[]>;
  /** All facts behind the one with the number `after` (0 for the first), those that others supersede as well. */
  learned(graph: string, after: number, limit: number): Promise<readonly LearnedRow[]>;
  /** What sessions read and changed, those behind the one with the number `after`. */
  notes(graph: string, after: number, limit: number): Promise<readonly (SessionNote & Numbered)[]>;

  stats(graph: string): Promise<GraphStats>;
  /** The graphs there are. */
  graphs(): Promise<readonly string[]>;
  /** Takes a graph out, facts and all. */
  drop(graph: string): Promise<void>;
}

/** A file, and by what one sees that it has not changed. */
export interface GraphFile {
  /** Relative to the graph's folder, with `/`. */
  readonly path: string;
  /** Of its content, as hexadecimal SHA-256. */
  readonly hash: string;
  readonly size: number;
  /** When it was last changed, or anything about it. */
  readonly mtimeMs: number;
  /** When it was read: a file that was changed in the same moment may have the same `mtimeMs`. */
  readonly readAtMs: number;
  /** `typescript`, …; absent for one that is known by name only. */
  readonly language?: string;
  /** Why no more is known of it, or less than there is: `too_large`, `minified`, `broken`, `binary`. */
  readonly note?: string;
}

export type SymbolKind =
  | 'function'
  | 'class'
  | 'method'
  | 'interface'
  | 'type'
  | 'enum'
  | 'variable'
  | 'field'
  | 'module'
  | 'heading';

/** Something that a file defines. */
export interface GraphSymbol {
  readonly name: string;
  readonly kind: SymbolKind;
  /** From 1 on. */
  readonly line: number;
  readonly endLine: number;
  /** Its head on one line, cut to a bounded size. */
  readonly signature: string;
  readonly exported: boolean;
  /** The index, in the file's symbols, of the one it stands in; always a smaller one. */
  readonly container?: number;
  /** The first sentence of its comment. */
  readonly doc?: string;
}

export interface GraphImport {
  /** As it is written: `./session.ts`, `node:fs`, `crate::kernel`. */
  readonly specifier: string;
  readonly line: number;
  /** What is taken from it, by the name it has there; `*` for all of it. */
  readonly names: readonly string[];
  /** Whether what is taken is handed on: `export … from`. */
  readonly reexport?: true;
}

export interface GraphCall {
  readonly name: string;
  /** What it is called on, where that is a name: `session` of `session.run()`. */
  readonly receiver?: string;
  readonly line: number;
  /** The index of the symbol that it stands in. */
  readonly from?: number;
}

/** All that is known of a file. */
export interface FileRecord extends GraphFile {
  readonly symbols: readonly GraphSymbol[];
  /** `target`: the file of the graph that it leads to. */
  readonly imports: readonly (GraphImport & { readonly target?: string })[];
  readonly calls: readonly GraphCall[];
}

export interface GraphChange {
  readonly records?: readonly FileRecord[];
  /** Paths that are there no longer. */
  readonly removed?: readonly string[];
  /** The same content, seen again: only size and times are new. Nothing where the graph has another content by now. */
  readonly touched?: readonly GraphFile[];
  /** The commit that the folder is at, where it is a repository. */
  readonly commit?: string;
  /** When the folder was last looked at whole. */
  readonly walkedAtMs?: number;
}

/** Where an import leads. */
export interface GraphResolvedImport {
  /** Of this store's own; it lasts until the file is read anew. */
  readonly id: number;
  /** It may be no file of the graph any more. */
  readonly target?: string;
}

export interface KnownImport extends GraphResolvedImport {
  readonly path: string;
  readonly specifier: string;
  readonly names: readonly string[];
}

export type FoundKind = 'file' | 'symbol' | 'fact';

/** `score`: from 0 on, the higher the better, and comparable between kinds. */
export type Found =
  | { readonly kind: 'file'; readonly path: string; readonly score: number }
  | { readonly kind: 'symbol'; readonly symbol: FoundSymbol; readonly score: number }
  | { readonly kind: 'fact'; readonly fact: Fact; readonly score: number };

export interface FoundSymbol extends Omit<GraphSymbol, 'container'> {
  /** Of this store's own; it lasts until the file is read anew. */
  readonly id: number;
  readonly path: string;
  /** `Session` of `Session.run`. */
  readonly within?: string;
}

export interface FoundCall {
  readonly path: string;
  readonly line: number;
  readonly name: string;
  readonly receiver?: string;
  /** The symbol that it stands in. */
  readonly from?: FoundSymbol;
  /** The symbol that is meant, where that is known. */
  readonly to?: FoundSymbol;
  /** Whether it is known to mean it: its file defines the symbol, or imports it. Else it only has its name. */
  readonly resolved: boolean;
}

export interface FoundImport extends GraphImport {
  readonly path: string;
  readonly target?: string;
}

export interface FactSubject {
  readonly path?: string;
  readonly symbol?: string;
}

export interface NewFact {
  readonly kind: 'fact' | 'decision';
  readonly text: string;
  readonly about: readonly FactSubject[];
  /** Where it comes from. */
  readonly session?: string;
  readonly commit?: string;
  readonly atMs: number;
  /** Ids of facts that no longer hold. */
  readonly supersedes?: readonly string[];
  /** What its files are now, where the graph may not know them yet; else what the graph has counts. */
  readonly contents?: readonly FileContent[];
  /** Of one that comes from another graph: what was kept of it there, and counts as it is. */
  readonly kept?: KeptFact;
}

export interface KeptFact {
  /** The files that it is about, and what they were when it was learned. */
  readonly files: readonly FactFile[];
  /** Whether none supersedes it. */
  readonly holds: boolean;
}

export interface FactFile {
  readonly path: string;
  /** Null where the file was not known. */
  readonly hash: string | null;
}

export interface Numbered {
  /** Of this store's own. */
  readonly n: number;
}

export interface LearnedRow extends Omit<NewFact, 'contents'>, Numbered {
  readonly kept: KeptFact;
}

export type FileContent = Pick<GraphFile, 'path' | 'hash'>;

export interface Fact extends Omit<NewFact, 'contents' | 'kept'> {
  readonly id: string;
  /**
   * The files that it is about and that are not what they were when it was learned: changed, gone, or known only since.
   * A fact about a symbol is about the files that defined it then; one without files is never stale.
   */
  readonly stale: readonly string[];
}

export interface SessionNote {
  readonly session: string;
  readonly title: string;
  readonly atMs: number;
  readonly commit?: string;
  readonly read: readonly string[];
  readonly changed: readonly string[];
}

export interface FoundSession {
  readonly session: string;
  readonly title: string;
  readonly atMs: number;
  readonly did: 'read' | 'changed';
}

export interface GraphStats {
  readonly files: number;
  readonly symbols: number;
  readonly imports: number;
  /** Those that lead to a file of the graph. */
  readonly resolvedImports: number;
  readonly calls: number;
  readonly facts: number;
  readonly staleFacts: number;
  readonly sessions: number;
  readonly languages: Readonly<Record<string, number>>;
  /** Files of which less is known than there is, by `note`. */
  readonly notes: Readonly<Record<string, number>>;
  readonly commit?: string;
  readonly walkedAtMs?: number;
}
