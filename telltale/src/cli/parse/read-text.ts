import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { Io } from '../io.ts';
import { usage } from '../options.ts';

/** Longer data belongs in a file or a store, not on a command line. */
const MAX_CHARACTERS = 4 * 1024 * 1024;

/**
 * Reads JSON from an argument: the JSON itself, `@FILE`, or `@-` for standard input. `option` and `example` appear in
 * errors.
 */
export async function readJson(
  option: string,
  given: string,
  io: Io,
  example = '{"name": "value"}',
): Promise<Json> {
  const hint = `Write ${option} '${example}', or @FILE for a file.`;
  if (!given.startsWith('@')) return parse(given, `${option} is not JSON`, hint);
  const path = given.slice(1);
  let text = '';
  for await (const piece of readText(path === '' ? '-' : path, io, 'file with JSON')) {
    text += piece;
    if (text.length > MAX_CHARACTERS) throw tooLong(path);
  }
  return parse(text, `${path === '-' ? 'Standard input' : `'${path}'`} is not JSON`, hint);
}

/** The same for a JSON object. */
export async function readObject(option: string, given: string, io: Io): Promise<JsonObject> {
  const value = await readJson(option, given, io);
  if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value as JsonObject;
  throw usage(`${option} is not a JSON object.`, `Write ${option} '{"name": "value"}', or ${option} @FILE.`);
}

function parse(text: string, what: string, hint: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (thrown) {
    throw usage(`${what}: ${(thrown as Error).message}.`, hint);
  }
}

const tooLong = (path: string) =>
  new RuntimeError(
    'file_too_large',
    `'${path}' is longer than ${MAX_CHARACTERS.toLocaleString('en')} characters.`,
    {
      hint: 'Give the workflow a path, and have a step read it.',
    },
  );

/**
 * The text of a file, or of standard input for `-`, in chunks. Invalid UTF-8 becomes U+FFFD. `what` describes the
 * expected content in errors.
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

/** The same text in chunks of `size` UTF-16 code units. */
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

/** Explains why a file that the user named cannot be read. */
export function cannotRead(path: string, what: string, cause: NodeJS.ErrnoException): RuntimeError {
  if (cause.code === 'ENOENT')
    return usage(`There is no file '${path}'.`, `Name a ${what}, or "-" for standard input.`);
  if (cause.code === 'EISDIR') return usage(`'${path}' is a folder.`, `Name a ${what} in it.`);
  return new RuntimeError('cannot_read', `'${path}' cannot be read (${cause.code ?? cause.message}).`, {
    hint: 'Check that the file exists and that you may read it.',
    cause,
  });
}
