import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { FileRecord, GraphFile } from '../../../store/graph.ts';
import type { Language, SourceParser } from '../../memory.ts';
import {
  type IndexThreadKnownFile,
  type PassRequest,
  type ReadBatch,
  unpackFiles,
  type WalkReport,
} from '../index-thread.ts';
import {
  BATCH_CHARS,
  BATCH_FILES,
  type IndexSource,
  isMinified,
  MAX_MANIFEST_BYTES,
  PARSE_BUDGET_MS,
  RACY_MS,
  readSource,
} from '../read-source.ts';
import { isWithin } from '../resolve/paths.ts';
import { type ContextManifestText, readContext } from '../resolve/read-context.ts';
import { type Walked, type WalkedFile, walk } from '../walk.ts';

export interface PassDeps {
  readonly languageOf: LanguageOf;
  parser(): Promise<SourceParser>;
  isStopped(): boolean;
  seen(seen: number, toRead: number): void;
  walked(report: WalkReport): void;
  /** Says which file is in hand; undefined for none. */
  begin(path: string | undefined): void;
  /** Returns when there is room for more. */
  send(batch: ReadBatch): void;
}

/** Walks, then reads what may have changed. */
export async function runPass(request: PassRequest, edges: PassDeps): Promise<void> {
  const { folder, below } = request;
  const known = unpackFiles(request.known);
  const { walked, seen, toRead, removed } = lookOver(request, known, edges.languageOf, edges);
  edges.walked({
    seen,
    toRead: toRead.length,
    added: toRead.filter(({ path }) => !known.has(path)).map(({ path }) => path),
    removed,
    unreadable: walked.unreadable.length,
    ...(walked.stopped === undefined ? {} : { stopped: walked.stopped }),
    ...(below.includes('') ? { context: readContext(manifestTexts(folder, walked.manifests)) } : {}),
  });
  const avoided = new Set(request.avoid);
  const read = {
    folder,
    languageOf: edges.languageOf,
    parser: edges.parser,
    staleBeforeMs: request.staleBeforeMs,
    isAvoided: (path: string) => avoided.has(path),
  };
  let batch = emptyBatch();
  for (const file of toRead) {
    if (edges.isStopped()) break;
    edges.begin(file.path);
    const news = await readFile(file, known.get(file.path), read);
    edges.begin(undefined);
    batch.read++;
    switch (news.kind) {
      case 'record':
        batch.records.push(news.record);
        batch.chars += charsOf(news.record);
        break;
      case 'touched':
        batch.touched.push(news.file);
        break;
      case 'unreadable':
        batch.unreadable++;
        if (known.has(file.path)) batch.gone.push(file.path);
        break;
      case 'gone':
        if (known.has(file.path)) batch.gone.push(file.path);
        break;
      case 'same':
        break;
    }
    if (batch.read < BATCH_FILES && batch.chars < BATCH_CHARS) continue;
    edges.send(sent(batch));
    batch = emptyBatch();
  }
  if (batch.read > 0) edges.send(sent(batch));
}

const emptyBatch = () => ({
  records: [] as FileRecord[],
  touched: [] as ReadBatch['touched'][number][],
  gone: [] as string[],
  read: 0,
  unreadable: 0,
  chars: 0,
});

const sent = ({ chars: _, ...batch }: ReturnType<typeof emptyBatch>): ReadBatch => batch;

/** Of an entry, what its numbers and keys take. */
const OVERHEAD_CHARS = 64;

function charsOf({ path, symbols, imports, calls }: FileRecord): number {
  let chars = path.length + OVERHEAD_CHARS * (1 + symbols.length + imports.length + calls.length);
  for (const { name, signature, doc } of symbols)
    chars += name.length + signature.length + (doc?.length ?? 0);
  for (const { specifier, names } of imports) chars += specifier.length + names.join().length;
  for (const { name, receiver } of calls) chars += name.length + (receiver?.length ?? 0);
  return chars;
}

function manifestTexts(folder: string, paths: readonly string[]): readonly ContextManifestText[] {
  const texts: ContextManifestText[] = [];
  for (const path of paths) {
    const file = join(folder, path);
    try {
      if (statSync(file).size <= MAX_MANIFEST_BYTES) texts.push({ path, text: readFileSync(file, 'utf8') });
    } catch {
      // Gone since, or not to be read: it says nothing of imports.
    }
  }
  return texts;
}

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

async function readFile(
  file: WalkedFile,
  before: IndexThreadKnownFile | undefined,
  edges: ReadDeps,
): Promise<FileNews> {
  const readAtMs = Date.now();
  let source: IndexSource;
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

export type LanguageOf = (path: string) => Language | undefined;

export interface LookedOver {
  readonly walked: Walked;
  readonly seen: number;
  /** New files, and those that may have changed. */
  readonly toRead: readonly WalkedFile[];
  readonly removed: readonly string[];
}

/** Compares a folder with what is known of it, by sizes and times alone. */
function lookOver(
  { folder, below, byName, staleBeforeMs }: PassRequest,
  known: ReadonlyMap<string, IndexThreadKnownFile>,
  languageOf: LanguageOf,
  edges: { isStopped(): boolean; seen(seen: number, toRead: number): void },
): LookedOver {
  const named = new Set(byName);
  const seen = new Set<string>();
  const toRead: WalkedFile[] = [];
  const walked = walk(folder, below, {
    // What was taken by name once is looked at from then on: facts hold as long as it stays the same.
    wanted: (path) => languageOf(path) !== undefined || known.has(path) || named.has(path),
    found(file) {
      if (seen.has(file.path)) return;
      seen.add(file.path);
      const before = known.get(file.path);
      if (before === undefined || !isSettled(file, before) || before.readAtMs < staleBeforeMs)
        toRead.push(file);
      edges.seen(seen.size, toRead.length);
    },
    isStopped: edges.isStopped,
  });
  const removed: string[] = [];
  if (walked.isWhole)
    for (const path of known.keys()) {
      if (seen.has(path) || !below.some((folderOf) => isWithin(path, folderOf))) continue;
      if (!walked.unreadable.some((folderOf) => isWithin(path, folderOf))) removed.push(path);
    }
  return { walked, seen: seen.size, toRead, removed };
}

/** Whether size and time say that it is what it was when it was read. */
const isSettled = (file: WalkedFile, { size, mtimeMs, readAtMs }: IndexThreadKnownFile): boolean =>
  file.size === size && file.mtimeMs === mtimeMs && mtimeMs < readAtMs - RACY_MS;
