import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import type { Json } from '../../lib/json.ts';
import { canonicalJson } from '../../manifest/project/canonical-json.ts';

/** A file that is larger counts by its size and the time of its last change. */
const MAX_READ = 64 * 1024 * 1024;
const PIECE = 256 * 1024;

/**
 * SHA-256 of what a call runs: the document that defines it, and the files that are its code. One that is not there, or
 * cannot be read, counts as that: it is another definition once it can be. In one piece, so that nothing comes between
 * the look and what is made of it; it is only asked for where a person is, too.
 */
export function definitionHash(document: Json, files: Iterable<string> = []): string {
  const hash = createHash('sha256').update(canonicalJson(document));
  for (const file of [...files].sort()) hash.update(`\n${basename(file)} ${fileHash(file)}`);
  return hash.digest('hex');
}

/** Of what a file holds; `unreadable` where it cannot be read. */
export function fileHash(file: string): string {
  const content = contentHash(file);
  if (content !== 'too large') return content.replace('sha256:', '').replace('missing', 'unreadable');
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats === undefined ? 'unreadable' : `${stats.size} ${stats.mtimeMs}`;
}

/** `sha256:…` of a file, or why there is none. Reads piece by piece: a file may be large. */
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
