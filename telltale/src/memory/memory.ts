import { type ErrorJson, RuntimeError } from '../lib/errors.ts';
import type {
  Fact,
  FactSubject,
  GraphCall,
  GraphImport,
  GraphStats,
  GraphSymbol,
  SymbolKind,
} from '../store/graph.ts';

/** What is known of a folder, and what sessions learned there. */
export interface Memory {
  /** The folder, absolute. */
  readonly folder: string;
  /** The graph's name in the store. */
  readonly graph: string;
  /**
   * Brings the graph up to date: files whose content changed are read anew, those that are gone go. With `paths`
   * (relative to the folder) only at these. Calls at the same time share one pass.
   */
  index(options?: IndexOptions): Promise<IndexReport>;
  query(query: MemoryQuery, view?: MemoryView): Promise<MemoryAnswer>;
  /** The part that has most to do with `text`, as Markdown of at most `maxTokens`; empty where there is none. */
  relevant(text: string, maxTokens: number, view?: MemoryView): Promise<string>;
  learn(facts: readonly LearnedFact[], from: { readonly session?: string }): Promise<readonly string[]>;
  noteSession(note: {
    readonly session: string;
    readonly title: string;
    /** Paths, absolute or relative to the folder; those outside of it are left out. */
    readonly read: readonly string[];
    readonly changed: readonly string[];
  }): Promise<void>;
  stats(): Promise<GraphStats>;
  /** Ends its thread. */
  close(): Promise<void>;
}

/** What of the folder whoever asks may see. Facts are for all: they are what sessions chose to keep. */
export interface MemoryView {
  /** Of these files of the graph, those that may be read. */
  mayRead(paths: readonly string[]): Promise<ReadonlySet<string>>;
}

export interface IndexOptions {
  readonly paths?: readonly string[];
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: IndexProgress) => void) | undefined;
}

export interface IndexProgress {
  /** Files that were looked at and that had to be read anew. `toRead` grows while the folder is being walked. */
  readonly seen: number;
  readonly toRead: number;
  readonly read: number;
}

export interface IndexReport {
  readonly files: number;
  /** Of them, read anew. */
  readonly parsed: number;
  readonly removed: number;
  /** In the files that were read anew. */
  readonly symbols: number;
  /** Files of which less is known than there is, by why: `too_large`, `minified`, `broken`, `binary`. */
  readonly notes: Readonly<Record<string, number>>;
  /** Why the folder was not walked to its end; absent where it was. */
  readonly stopped?: string;
  readonly ms: number;
}

export interface MemoryQuery {
  /** One of these three. */
  readonly query?: string;
  readonly symbol?: string;
  readonly path?: string;
  /** How many steps from what was found: callers, callees, importers. */
  readonly depth?: number;
  readonly limit?: number;
  /** Of the answer as Markdown. */
  readonly maxTokens?: number;
}

export interface MemoryAnswer {
  readonly nodes: readonly MemoryNode[];
  readonly edges: readonly MemoryEdge[];
  /** What was left out for lack of room, and why an answer may be short: the graph is still being built. */
  readonly note?: string;
}

export type MemoryNode =
  | {
      readonly kind: 'symbol';
      readonly what: SymbolKind;
      readonly name: string;
      /** `src/session.ts:12`. */
      readonly at: string;
      readonly signature: string;
      readonly doc?: string;
      readonly snippet?: string;
      /** Steps from what was asked for. */
      readonly distance: number;
    }
  | {
      readonly kind: 'file';
      readonly at: string;
      readonly language?: string;
      readonly defines?: readonly string[];
      readonly distance: number;
    }
  /** A module that is not in the folder. */
  | { readonly kind: 'module'; readonly name: string; readonly distance: number }
  | ({ readonly kind: 'fact' | 'decision'; readonly distance: number } & Pick<
      Fact,
      'id' | 'text' | 'stale' | 'session' | 'commit' | 'atMs'
    >)
  | {
      readonly kind: 'session';
      readonly session: string;
      readonly title: string;
      readonly atMs: number;
      readonly distance: number;
    };

export interface MemoryEdge {
  readonly kind: 'defines' | 'imports' | 'calls' | 'mentions' | 'learned_in' | 'supersedes';
  /** As nodes are named: `at` of a symbol or file, a module's name, a fact's id, a session. */
  readonly from: string;
  readonly to: string;
  /** `src/run.ts:40`: where a call or import stands. */
  readonly at?: string;
  /** A call that only has the name. */
  readonly byName?: true;
}

export interface LearnedFact {
  readonly kind?: 'fact' | 'decision';
  readonly text: string;
  readonly about?: readonly FactSubject[];
  readonly supersedes?: readonly string[];
}

export const LANGUAGES = [
  'typescript',
  'tsx',
  'javascript',
  'python',
  'go',
  'rust',
  'java',
  'markdown',
] as const;
export type Language = (typeof LANGUAGES)[number];

/** What the text of a file says: pure, whatever stands in other files. */
export interface ParsedFile {
  readonly language: Language;
  /** In the order of their first character; a container comes before what it holds. */
  readonly symbols: readonly GraphSymbol[];
  readonly imports: readonly GraphImport[];
  readonly calls: readonly GraphCall[];
  /** Whether it has mistakes of syntax, or was too large or too slow to be read whole: what could be read is here. */
  readonly broken: boolean;
}

/** Reads source text. One for a thread: its grammars are loaded when they are first needed. */
export interface SourceParser {
  /** Rejects only where a grammar cannot be loaded: any text has some reading. Ends within `budgetMs`, then `broken`. */
  parse(language: Language, text: string, budgetMs: number): Promise<ParsedFile>;
  close(): void;
}

export const folderMissing = (folder: string) =>
  new RuntimeError('folder_missing', `There is no folder at ${folder}.`, {
    hint: 'Give the path of the folder that the graph is about.',
  });

export const notAFolder = (folder: string) =>
  new RuntimeError('not_a_folder', `${folder} is not a folder.`, {
    hint: 'Give the path of the folder that the graph is about, not that of a file in it.',
  });

export const folderUnreadable = (folder: string, cause: unknown) =>
  new RuntimeError('folder_unreadable', `${folder} cannot be looked at: ${messageOf(cause)}.`, {
    hint: 'Look at its permissions.',
    cause,
  });

/** The thread ended more often than files can be blamed for. */
export const indexThreadEnded = (folder: string, cause: unknown) =>
  new RuntimeError('index_failed', `The thread that reads ${folder} ended: ${messageOf(cause)}.`, {
    hint: 'What was read is kept: index again and it goes on from there.',
    retryable: true,
    cause,
  });

export const indexFailed = (folder: string, error: ErrorJson) =>
  new RuntimeError('index_failed', `${folder} could not be indexed: ${error.message}`, {
    hint: error.hint ?? 'What was read is kept: index again and it goes on from there.',
  });

export const memoryClosed = (folder: string) =>
  new RuntimeError('memory_closed', `The memory of ${folder} was closed before.`, {
    hint: 'Open it again with openMemory.',
  });

const messageOf = (cause: unknown): string =>
  (cause instanceof Error ? cause.message : String(cause)).replace(/\.$/, '');
