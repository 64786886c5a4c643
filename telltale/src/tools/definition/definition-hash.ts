import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import type { Json } from '../../lib/json.ts';
import { canonicalJson } from '../../manifest/project/canonical-json.ts';

/** A larger file counts by its size and modification time. */
const MAX_READ = 64 * 1024 * 1024;
const PIECE = 256 * 1024;

/**
 * SHA-256 of what a call runs: the document that defines it and its code files. A missing or unreadable file counts as
 * such, so the hash changes once the file can be read. Synchronous, so that nothing can change between the check and
 * the use. Only computed if a call needs approval.
 */
export function definitionHash(document: Json, files: Iterable<string> = []): string {
  const hash = createHash('sha256').update(canonicalJson(document));
  for (const file of [...files].sort()) hash.update(`\n${basename(file)} ${fileHash(file)}`);
  return hash.digest('hex');
}

/** The hash of a file's content, or `unreadable`. */
export function fileHash(file: string): string {
  const content = contentHash(file);
  if (content !== 'too large') return content.replace('sha256:', '').replace('missing', 'unreadable');
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats === undefined ? 'unreadable' : `${stats.size} ${stats.mtimeMs}`;
}

/** `sha256:…` of a file, or the reason why there is none. Reads in pieces, because files may be large. */
export function contentHash(file: string): string {
  let opened: number | undefined;
  try {
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats === undefined) return 'missing';
    if (!stats.isFile()) return 'unreadable';
    if (stats.size > MAX_READ) return 'too large';
    opened = openSync(file, 'r');
    const hash = createHash('sha256');
    const piece = Buffer.allocUnsafe(PIECE);
    for (let read = readSync(opened, piece); read > 0; read = readSync(opened, piece))
      hash.update(piece.subarray(0, read));
    return `sha256:${hash.digest('hex')}`;
  } catch {
    return 'unreadable';
  } finally {
    if (opened !== undefined) closeSync(opened);
  }
}
