import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { MAX_SOURCE_BYTES } from './limits.ts';

/** Lines of a file, from 1 on, both included; undefined where it cannot be read. */
export type ReadLines = (path: string, from: number, to: number) => Promise<readonly string[] | undefined>;

/** For one question, which asks for many parts of few files: each is read once. */
export function createLineReader(folder: string): ReadLines {
  const files = new Map<string, Promise<readonly string[] | undefined>>();
  return async (path, from, to) => {
    const lines = files.get(path) ?? readLines(join(folder, path));
    files.set(path, lines);
    return (await lines)?.slice(from - 1, to);
  };
}

async function readLines(path: string): Promise<readonly string[] | undefined> {
  try {
    const file = await open(
      path,
      constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0),
    );
    try {
      const stats = await file.stat();
      if (!stats.isFile() || stats.size > MAX_SOURCE_BYTES) return undefined;
      return (await file.readFile('utf8')).split(/\r\n|\n/);
    } finally {
      await file.close();
    }
  } catch {
    return undefined; // Gone, or not to be read: the answer comes without its text.
  }
}
