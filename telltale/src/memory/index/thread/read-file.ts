import { join } from 'node:path';
import type { FileRecord, GraphFile } from '../../../store/graph.ts';
import type { SourceParser } from '../../parsed-file.ts';
import { PARSE_BUDGET_MS, RACY_MS } from '../limits.ts';
import type { KnownFile } from '../messages.ts';
import { isMinified, readSource, type Source } from '../read-source.ts';
import type { WalkedFile } from '../walk.ts';
import type { LanguageOf } from './look-over.ts';

/** What came of a file that may have changed. */
export type FileNews =
  | { readonly kind: 'record'; readonly record: FileRecord }
  | { readonly kind: 'touched'; readonly file: GraphFile }
  | { readonly kind: 'same' | 'gone' | 'unreadable' };

export interface ReadDeps {
  readonly folder: string;
  readonly languageOf: LanguageOf;
  parser(): Promise<SourceParser>;
  /** What was read before that is read anew, though it is the same. */
  readonly staleBeforeMs: number;
  /** Whether a thread has ended at it. */
  isAvoided(path: string): boolean;
}

export async function readFile(
  file: WalkedFile,
  before: KnownFile | undefined,
  edges: ReadDeps,
): Promise<FileNews> {
  const readAtMs = Date.now();
  let source: Source;
  try {
    source = readSource(join(edges.folder, file.path));
  } catch (error) {
    return { kind: isGone(error) ? 'gone' : 'unreadable' };
  }
  const { path, size, mtimeMs } = file;
  const own = { path, hash: source.hash, size, mtimeMs, readAtMs };
  if (before?.hash === source.hash && before.readAtMs >= edges.staleBeforeMs) {
    const isNews = before.size !== size || before.mtimeMs !== mtimeMs || mtimeMs < readAtMs - RACY_MS;
    return isNews ? { kind: 'touched', file: own } : { kind: 'same' };
  }
  const language = edges.languageOf(path);
  if (source.note !== undefined) return bare(own, source.note);
  if (language === undefined) return bare(own);
  if (language !== 'markdown' && isMinified(source.text)) return bare(own, 'minified');
  if (edges.isAvoided(path)) return bare({ ...own, language }, 'broken');
  const parser = await edges.parser();
  const { symbols, imports, calls, broken } = await parser.parse(language, source.text, PARSE_BUDGET_MS);
  const record = { ...own, language, symbols, imports, calls, ...(broken ? { note: 'broken' } : {}) };
  return { kind: 'record', record };
}

const bare = (file: GraphFile, note?: string): FileNews => ({
  kind: 'record',
  record: { ...file, symbols: [], imports: [], calls: [], ...(note === undefined ? {} : { note }) },
});

function isGone(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP';
}
