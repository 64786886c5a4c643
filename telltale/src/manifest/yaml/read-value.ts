import {
  type Alias,
  isAlias,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  type Pair,
  type ParsedNode,
  type Scalar,
  visit,
  type YAMLMap,
} from 'yaml';
import type { Json } from '../../lib/json.ts';
import { type Finding, MANIFEST_LIMITS, quoted, type Span } from '../diagnostic.ts';
import { type Env, type EnvRoom, enabledFlag, type Substituted, substituteEnv } from '../environment.ts';
import { spanInside, spanOf, tagSpan } from './spans.ts';

/** The result of reading a document's tree. The maps help to locate issues later. */
export interface ReadValue {
  readonly value: Json;
  /** Whether it exceeds a limit on values or keys, so that `value` is incomplete. */
  readonly isCut: boolean;
  readonly problems: readonly { readonly finding: Finding; readonly span: Span }[];
  readonly aliases: ReadonlyMap<Alias, Anchored>;
  readonly substituted: ReadonlyMap<Scalar, Substituted>;
}

/** The value of an alias, and the key that it is written under. */
export interface Anchored {
  readonly key: ParsedNode | null;
  readonly node: ParsedNode;
}

const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);
const PLAIN_TAGS: ReadonlySet<string> = new Set(
  ['str', 'int', 'float', 'bool', 'null', 'map', 'seq'].map((tag) => `tag:yaml.org,2002:${tag}`),
);
/** Maps whose keys stand for values: there, `true` is the text of the value true. */
const KEYED_BY_VALUE: ReadonlySet<string> = new Set(['transition_map']);
/** Keys whose text is code, where `${…}` belongs to the code. */
const CODE_KEYS: ReadonlySet<string> = new Set(['source', 'script']);

/**
 * Makes JSON of a document's tree, environment variables put in. Whatever is not plain JSON (aliases to nowhere,
 * keys that are no text, tags, keys that reach into prototypes) becomes a finding with its place, and reading
 * goes on. `lineOf` names the line of an offset. Depth is bounded by the composer's check, size here. Without an
 * `env` texts stay as they are written.
 */
export function readValue(
  root: ParsedNode | null,
  text: string,
  env: Env | undefined,
  lineOf: (offset: number) => number,
): ReadValue {
  const problems: { finding: Finding; span: Span }[] = [];
  const anchors = new Map<string, Anchored & { value: Json; size: number; open: boolean }>();
  const aliases = new Map<Alias, Anchored>();
  const substituted = new Map<Scalar, Substituted>();
  const items = itemNames(root);
  const room: EnvRoom = { left: MANIFEST_LIMITS.envCharacters };
  let size = 0;
  let hasTooManyKeys = false;

  const report = (finding: Finding, node: ParsedNode) => {
    problems.push({ finding, span: spanOf(node) });
  };
  /** Counts values. The first one beyond the limit is reported, and it and all later ones are read as null. */
  const hasRoom = (node: ParsedNode, count: number): boolean => {
    const before = size;
    size += count;
    if (size <= MANIFEST_LIMITS.values) return true;
    if (before <= MANIFEST_LIMITS.values) report(tooManyValues(), node);
    return false;
  };

  const read = (node: ParsedNode | null, key?: string, keyNode: ParsedNode | null = null): Json => {
    if (node === null) return null;
    if (isAlias(node)) return readAlias(node as Alias.Parsed);
    if (!hasRoom(node, 1)) return null;
    if (node.tag !== undefined && !PLAIN_TAGS.has(node.tag))
      problems.push({ finding: customTag(node.tag), span: tagSpan(node, text) });
    if (node.anchor === undefined) return readContent(node, key);
    const before = size - 1;
    const anchor = { key: keyNode, node, value: null as Json, size: 0, open: true };
    anchors.set(node.anchor, anchor);
    anchor.value = readContent(node, key);
    anchor.size = size - before;
    anchor.open = false;
    return anchor.value;
  };

  const readContent = (node: ParsedNode, key: string | undefined): Json => {
    if (isMap(node)) return readMap(node as YAMLMap.Parsed, KEYED_BY_VALUE.has(key ?? ''));
    if (isSeq(node)) return node.items.map((item) => read(item as ParsedNode));
    return readScalar(node as Scalar.Parsed, key);
  };

  /** The value is shared, not copied. It counts fully each time, so aliases of aliases reach the limit at once. */
  const readAlias = (node: Alias.Parsed): Json => {
    const anchor = anchors.get(node.source);
    if (anchor === undefined || anchor.open) {
      report(anchor === undefined ? anchorUnknown(node.source) : aliasCycle(node.source), node);
      return null;
    }
    if (!hasRoom(node, anchor.size)) return null;
    aliases.set(node, anchor);
    return anchor.value;
  };

  const readMap = (node: YAMLMap.Parsed, isKeyedByValue: boolean): Json => {
    if (node.items.length > MANIFEST_LIMITS.keys) {
      report(tooManyKeys(), (node.items[MANIFEST_LIMITS.keys]?.key as ParsedNode | null) ?? node);
      hasTooManyKeys = true;
      return {};
    }
    const result: Record<string, Json> = {};
    const firstAt = new Map<string, number>();
    for (const pair of node.items as Pair<ParsedNode, ParsedNode | null>[]) {
      const key = readKey(pair.key, isKeyedByValue);
      const value = read(pair.value, key, pair.key);
      if (key === undefined) continue;
      const first = firstAt.get(key);
      if (first !== undefined) report(duplicateKey(key, first, lineOf(spanOf(pair.key).start)), pair.key);
      else {
        firstAt.set(key, lineOf(spanOf(pair.key).start));
        result[key] = value;
      }
    }
    return result;
  };

  const readKey = (node: ParsedNode, isValue: boolean): string | undefined => {
    if (isValue && isScalar(node) && ['boolean', 'number'].includes(typeof node.value))
      return String(node.value);
    if (!isScalar(node) || typeof node.value !== 'string') report(keyNotText(node), node);
    else if (FORBIDDEN_KEYS.has(node.value)) report(forbiddenKey(node.value), node);
    else if (node.value === '<<' && node.type === 'PLAIN') report(MERGE_KEY, node);
    else return node.value;
    return undefined;
  };

  const readScalar = (node: Scalar.Parsed, key: string | undefined): Json => {
    const { value } = node;
    if (typeof value === 'number') return readNumber(node, value);
    if (typeof value !== 'string') return value as Json;
    if (node.type === 'QUOTE_SINGLE' && !isClosed(text.slice(node.range[0], node.range[1])))
      problems.push({ finding: QUOTE_OPEN, span: { start: node.range[0], end: node.range[0] + 1 } });
    const isLiteral = env === undefined || CODE_KEYS.has(key ?? '');
    const replaced = isLiteral ? undefined : substituteEnv(value, env, items, room);
    if (replaced === undefined) return value;
    substituted.set(node, replaced);
    const unset = replaced.problems.some(({ finding }) => finding.code === 'env_unset');
    if (key === 'enabled' && unset) return false;
    for (const { finding, start, end } of replaced.problems)
      problems.push({ finding, span: spanInside(node, text, value, start, end) });
    if (key === 'enabled' && replaced.whole) return enabledFlag(replaced.text);
    return node.type === 'PLAIN' ? readPlainScalar(replaced.text) : replaced.text;
  };

  const readNumber = (node: Scalar.Parsed, value: number): Json => {
    if (!Number.isFinite(value)) report(NOT_FINITE, node);
    else if (Number.isInteger(value) && !Number.isSafeInteger(value) && /^[-+]?\d+$/.test(node.source ?? ''))
      report(numberTooLarge(node.source ?? ''), node);
    return Number.isFinite(value) ? value : null;
  };

  const value = read(root);
  return {
    value,
    isCut: hasTooManyKeys || size > MANIFEST_LIMITS.values,
    problems,
    aliases,
    substituted,
  };
}

/**
 * The names of a foreach's items (`as: file`), `output` in a `compensate`, and `error` in a `catch`: in this document,
 * `${file}` is no environment variable.
 */
function itemNames(root: ParsedNode | null): ReadonlySet<string> {
  const names = new Set<string>();
  visit(root, {
    Pair(_key, { key, value }) {
      if (isScalar(key) && key.value === 'as' && isScalar(value) && typeof value.value === 'string')
        names.add(value.value);
      if (isScalar(key) && key.value === 'compensate') names.add('output');
      if (isScalar(key) && key.value === 'catch') names.add('error');
    },
  });
  return names;
}

/**
 * Two quotes at the very end of a file are an escaped quote; the library takes the second one for the closing quote.
 */
function isClosed(source: string): boolean {
  let quotes = 0;
  while (quotes < source.length - 1 && source[source.length - 1 - quotes] === "'") quotes++;
  return quotes % 2 === 1;
}

const error = (code: string, message: string, hint: string): Finding => ({
  severity: 'error',
  code,
  message,
  hint,
});

/** Created when needed, like the next one, because formatting the first number takes 10 ms. */
const tooManyValues = () =>
  error(
    'too_many_values',
    `The document has more than ${MANIFEST_LIMITS.values.toLocaleString('en')} values. Each alias counts as all the values that it repeats.`,
    'Use fewer aliases, or split the document into files and import them.',
  );

const tooManyKeys = () =>
  error(
    'too_many_keys',
    `This map has more than ${MANIFEST_LIMITS.keys.toLocaleString('en')} keys.`,
    'No manifest needs that many. Is this the right file?',
  );

const MERGE_KEY = error(
  'merge_key',
  'YAML 1.2 has no merge key "<<".',
  'Write the keys out. An alias (key: *anchor) can replace a whole value.',
);

const NOT_FINITE = error('not_json', 'JSON has no Infinity or NaN.', 'Write a finite number.');

const numberTooLarge = (source: string) =>
  error(
    'number_too_large',
    `The number ${quoted(source).slice(1, -1)} has too many digits to be stored exactly.`,
    'Put it in quotes if it is a name or an id.',
  );

const anchorUnknown = (name: string) =>
  error(
    'anchor_unknown',
    `A value that starts with "*" is a YAML alias, but there is no anchor &${quoted(name).slice(1, -1)} above.`,
    `If you mean text, put it in quotes: ${quoted(`*${name}`)}.`,
  );

const aliasCycle = (name: string) =>
  error(
    'alias_cycle',
    `The alias *${name} refers to a value that contains it.`,
    'Write the inner value out instead.',
  );

const customTag = (tag: string) =>
  error(
    'custom_tag',
    `YAML tags such as ${quoted(tag)} are not supported.`,
    'Delete the tag. If you mean text that starts with "!", put it in quotes.',
  );

const forbiddenKey = (key: string) =>
  error(
    'forbidden_key',
    `A key cannot be named ${quoted(key)}.`,
    'JavaScript reserves that name. Choose another one.',
  );

const duplicateKey = (key: string, firstLine: number, line: number) =>
  error(
    'duplicate_key',
    firstLine === line
      ? `The key ${quoted(key)} is twice in line ${line}.`
      : `The key ${quoted(key)} is in line ${firstLine} and again in line ${line}.`,
    'Keep one of them.',
  );

function keyNotText(node: ParsedNode): Finding {
  if (isScalar(node) && node.source) {
    const what = node.value === null ? 'null' : `a ${typeof node.value}`;
    return error(
      'key_not_text',
      `The key ${node.source} is ${what}, not text.`,
      `Put it in quotes: ${quoted(node.source)}.`,
    );
  }
  const what = isAlias(node) ? 'an alias' : isCollection(node) ? 'a list or a map' : 'empty';
  return error(
    'key_not_text',
    `A key is ${what}, not text.`,
    'Write a name. If you mean text that starts with "{" or "[", put it in quotes.',
  );
}

const QUOTE_OPEN = error(
  'yaml_syntax',
  'The quote that starts here is not closed.',
  'Add the closing quote.',
);

const NULL = /^(?:~|[Nn]ull|NULL)?$/;
const TRUE = /^(?:[Tt]rue|TRUE)$/;
const FALSE = /^(?:[Ff]alse|FALSE)$/;
const OCTAL = /^0o[0-7]+$/;
const HEX = /^0x[0-9a-fA-F]+$/;
const NUMBER = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;

/**
 * Reads a plain scalar by YAML 1.2's core schema, except for `.inf` and `.nan`, which stay text because JSON has
 * neither.
 */
export function readPlainScalar(text: string): string | number | boolean | null {
  if (NULL.test(text)) return null;
  if (TRUE.test(text)) return true;
  if (FALSE.test(text)) return false;
  if (OCTAL.test(text)) return Number.parseInt(text.slice(2), 8);
  if (HEX.test(text)) return Number.parseInt(text.slice(2), 16);
  if (!NUMBER.test(text)) return text;
  const number = Number(text);
  return Number.isFinite(number) ? number : text;
}
