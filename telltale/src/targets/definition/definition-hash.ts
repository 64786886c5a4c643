import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import type { Json } from '../../kernel/json.ts';
import { canonicalJson } from '../../manifest/project/canonical-json.ts';

/** A file that is larger counts by its size and the time of its last change. */
const MAX_READ = 8 * 1024 * 1024;

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
  try {
    const { size, mtimeMs } = statSync(file);
    if (size > MAX_READ) return `${size} ${mtimeMs}`;
    return createHash('sha256').update(readFileSync(file)).digest('hex');
  } catch {
    return 'unreadable';
  }
}
