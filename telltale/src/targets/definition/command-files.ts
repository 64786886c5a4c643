import { statSync } from 'node:fs';
import { resolve } from 'node:path';

/** Words of a command that are looked at. */
const MAX_WORDS = 100;

/**
 * The files that a command of a manifest names word for word: a script that an interpreter is given, a program by its
 * path. What a name stands for on the PATH is the system's.
 */
export const commandFiles = (command: readonly string[], folder: string): readonly string[] =>
  command.slice(0, MAX_WORDS).flatMap((word, index) => {
    if (/[{$]/.test(word) || (index === 0 && !word.includes('/'))) return [];
    const path = resolve(folder, word);
    return isFile(path) ? [path] : [];
  });

function isFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  } catch {
    return false; // a word need not be a path: code for `node -e` is too long for one
  }
}
