import type { Json, JsonObject } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Io } from '../io.ts';
import { readText } from '../parse/read-text.ts';
import { usage } from '../usage.ts';

/** What is longer is data for a file or a store, not for a command line. */
const MAX_CHARACTERS = 4 * 1024 * 1024;

/** JSON as it is written in an argument: itself, `@FILE`, or `@-` for standard input. `option` and `example` are for errors. */
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

/** The same where it has to be a map. */
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
