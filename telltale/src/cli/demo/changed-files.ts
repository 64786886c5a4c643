import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TemplateFile } from './template.ts';

export interface ChangedFile {
  readonly path: string;
  readonly added: number;
  readonly removed: number;
}

/** Which files of the template are not what they were, and by how many lines. Looks at the disk, not at the log. */
export async function changedFiles(
  files: readonly TemplateFile[],
  folder: string,
): Promise<readonly ChangedFile[]> {
  const changed: ChangedFile[] = [];
  for (const { path, text } of files) {
    const now = await readFile(join(folder, path), 'utf8').catch(() => ''); // gone: all of its lines are
    if (now !== text) changed.push({ path, ...countLines(text, now) });
  }
  return changed;
}

/** By the longest common subsequence of lines: quadratic, for files of a demo. */
export function countLines(before: string, after: string): Pick<ChangedFile, 'added' | 'removed'> {
  const old = linesOf(before);
  const fresh = linesOf(after);
  let row = new Array<number>(fresh.length + 1).fill(0);
  for (const line of old) {
    const next = [0];
    for (const [at, other] of fresh.entries())
      next.push(line === other ? (row[at] ?? 0) + 1 : Math.max(row[at + 1] ?? 0, next[at] ?? 0));
    row = next;
  }
  const kept = row.at(-1) ?? 0;
  return { added: fresh.length - kept, removed: old.length - kept };
}

const linesOf = (text: string): readonly string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));
