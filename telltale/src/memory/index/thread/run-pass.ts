import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { FileRecord } from '../../../store/graph.ts';
import type { SourceParser } from '../../parsed-file.ts';
import { BATCH_CHARS, BATCH_FILES, MAX_MANIFEST_BYTES } from '../limits.ts';
import { type PassRequest, type ReadBatch, unpackFiles, type WalkReport } from '../messages.ts';
import { type ManifestText, readContext } from '../resolve/read-context.ts';
import { type LanguageOf, lookOver } from './look-over.ts';
import { readFile } from './read-file.ts';

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

function manifestTexts(folder: string, paths: readonly string[]): readonly ManifestText[] {
  const texts: ManifestText[] = [];
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
