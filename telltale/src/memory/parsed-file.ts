import type { GraphCall, GraphImport, GraphSymbol } from '../store/graph.ts';

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
