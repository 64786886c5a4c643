import type { Json, JsonObject } from '../../../kernel/json.ts';
import { RuntimeError } from '../../../kernel/runtime-error.ts';

/** A name of a remote and nothing else: an address would lead past the check of its host. */
export function remoteOf(input: JsonObject): string {
  const remote = reference(input, 'remote') ?? 'origin';
  if (/^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(remote)) return remote;
  throw new RuntimeError(
    'bad_parameters',
    `"/remote" is "${remote.slice(0, 100)}", which is no name of a remote.`,
    {
      hint: 'Give a name such as "origin", not an address.',
    },
  );
}

export const flag = (input: JsonObject, key: string, option: string): readonly string[] =>
  input[key] === true ? [option] : [];

export const refs = (input: JsonObject, ...keys: readonly string[]): readonly string[] =>
  keys.flatMap((key) => reference(input, key) ?? []);

/** What begins with a dash would be an option to git; with a plus, it would write over what a remote or a branch has. */
export function reference(input: JsonObject, key: string): string | undefined {
  const value: Json | undefined = input[key];
  if (typeof value !== 'string') return undefined;
  if (!/^[-+]|[\0-\x20\x7f:]/.test(value)) return value;
  throw new RuntimeError(
    'bad_parameters',
    `"/${key}" is ${JSON.stringify(value.slice(0, 100))}, which no branch or commit is called.`,
    {
      hint: 'Give the name of a branch or tag, or a commit.',
    },
  );
}

export const paths = (input: JsonObject): readonly string[] => [
  '--',
  ...(Array.isArray(input.paths) ? input.paths.map((path: Json) => `:(literal)${String(path)}`) : []),
];
