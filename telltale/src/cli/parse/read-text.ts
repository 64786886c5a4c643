import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Io } from '../io.ts';
import { usage } from '../usage.ts';

/**
 * The text of a file, or of standard input for `-`, piece by piece. What is no UTF-8 comes as U+FFFD. `what` it should
 * be is for errors.
 */
export async function* readText(path: string, io: Io, what = 'transcript'): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  try {
    for await (const bytes of path === '-' ? io.stdin : createReadStream(resolve(io.cwd, path))) {
      io.signal.throwIfAborted();
      yield decoder.decode(bytes as Uint8Array, { stream: true });
    }
  } catch (thrown) {
    throw io.signal.aborted ? thrown : cannotRead(path, what, thrown as NodeJS.ErrnoException);
  }
  yield decoder.decode();
}

/** The same text in pieces of `size` UTF-16 code units. */
export async function* cutText(source: AsyncIterable<string>, size: number): AsyncGenerator<string> {
  let rest = '';
  for await (const text of source) {
    rest += text;
    let at = 0;
    for (; rest.length - at >= size; at += size) yield rest.slice(at, at + size);
    rest = rest.slice(at);
  }
  if (rest !== '') yield rest;
}

/** Why a file could not be read, for whoever named it. */
export function cannotRead(path: string, what: string, cause: NodeJS.ErrnoException): RuntimeError {
  if (cause.code === 'ENOENT')
    return usage(`There is no file '${path}'.`, `Name a ${what}, or "-" for standard input.`);
  if (cause.code === 'EISDIR') return usage(`'${path}' is a folder.`, `Name a ${what} in it.`);
  return new RuntimeError('cannot_read', `'${path}' cannot be read (${cause.code ?? cause.message}).`, {
    hint: 'Check that the file exists and that you may read it.',
    cause,
  });
}
