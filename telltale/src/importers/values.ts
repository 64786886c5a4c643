import { isJsonObject, type Json, type JsonObject } from '../lib/json.ts';

/** Text that is no template: `${` in it stays as it is. */
export const plainText = (text: string): string => text.replace(/\$+(?=\{)/g, (dollars) => dollars + dollars);

/** A value whose texts are no templates. */
export const plainValue = (value: Json): Json => mapTexts(value, plainText);

/**
 * A text as a template: what `pattern` finds becomes what `replace` returns, and stays if that is undefined. The rest of
 * the text is no template.
 */
export function templateOf(
  text: string,
  pattern: RegExp,
  replace: (found: RegExpExecArray) => string | undefined,
): string {
  let out = '';
  let at = 0;
  for (const found of text.matchAll(pattern)) {
    const replaced = replace(found);
    if (replaced === undefined) continue;
    const before = plainText(text.slice(at, found.index));
    // Dollars in front of a reference would escape it, and those in front of a brace would begin one.
    out += /^\$?\{/.test(replaced) ? before.replace(/\$+$/, (dollars) => dollars + dollars) : before;
    out += replaced;
    at = found.index + found[0].length;
  }
  return out + plainText(text.slice(at));
}

/** `${NAME}` as an environment variable that may be unset. */
export const environmentText = (text: string): string => text.replace(/\$\{(\w+)\}/g, '${$1:-}');

/** A value with each text in it changed. */
export function mapTexts(value: Json, change: (text: string) => Json): Json {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((each: Json) => mapTexts(each, change));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, mapTexts(each, change)]));
}

/** Text, or a number as text. */
export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : undefined;

/** The same without outer spaces; undefined if nothing is left. */
export const trimmedText = (value: unknown): string | undefined => textOf(value)?.trim() || undefined;

export const textsOf = (value: Json | undefined): readonly string[] =>
  listOf(value).flatMap((each) => textOf(each) ?? []);

/** A list, or the value as the only entry of one. */
export const listOf = (value: unknown): readonly Json[] =>
  Array.isArray(value) ? value : value === undefined || value === null ? [] : [value as Json];

/** A map, or an empty one for any other value. */
export const mapOf = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});

/** Texts as paragraphs; undefined if there is none. Empty and repeated ones are left out. */
export function paragraphs(...texts: readonly (string | undefined)[]): string | undefined {
  const written = new Set(texts.filter((text) => (text ?? '').trim() !== ''));
  return written.size === 0 ? undefined : [...written].join('\n\n');
}

/** Lines under a heading; undefined if there are none. */
export const section = (heading: string, lines: readonly string[]): string | undefined =>
  lines.length === 0 ? undefined : `## ${heading}\n${lines.join('\n')}`;

export const bullets = (items: readonly string[]): readonly string[] => items.map((item) => `- ${item}`);

type OptionalEntries = Readonly<Record<string, Json | undefined>>;

/** A map without the keys that have no value. */
export const defined = (entries: OptionalEntries): JsonObject =>
  Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined)) as JsonObject;

/** A map without the keys that have no value, an empty list or an empty map. */
export const filled = (entries: OptionalEntries): JsonObject =>
  Object.fromEntries(
    Object.entries(entries).filter(
      ([, value]) =>
        value !== undefined &&
        !(typeof value === 'object' && value !== null && Object.keys(value).length === 0),
    ),
  ) as JsonObject;

/** Several CEL tests that must all hold; undefined if there is none. */
export function allOf(tests: readonly (string | undefined)[]): string | undefined {
  const given = tests.filter((test) => test !== undefined && test !== 'true') as readonly string[];
  return given.length < 2 ? given[0] : given.map((test) => bracketed(test, /[|?]/)).join(' && ');
}

/** Several CEL tests of which one must hold. */
export const anyOf = (tests: readonly string[]): string =>
  tests.length < 2 ? (tests[0] ?? 'false') : tests.map((test) => bracketed(test, /[&?]/)).join(' || ');

/** The test, in brackets if one of these operators stands outside of brackets and strings. */
function bracketed(test: string, operators: RegExp): string {
  let bare = test.replace(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g, '""');
  for (let before = ''; before !== bare; ) {
    before = bare;
    bare = bare.replace(/\([^()[\]]*\)|\[[^()[\]]*\]/g, '');
  }
  return operators.test(bare) ? `(${test})` : test;
}
