import { isAlias, isCollection, isScalar, type ParsedNode } from 'yaml';
import type { Finding } from '../diagnostic.ts';
import { MANIFEST_LIMITS } from '../limits.ts';
import { quoted } from '../printable.ts';

const error = (code: string, message: string, hint: string): Finding => ({
  severity: 'error',
  code,
  message,
  hint,
});

/** Made when it is needed, as the next: the first number that is written for people takes 10 ms, at every start. */
export const tooManyValues = () =>
  error(
    'too_many_values',
    `The document holds more than ${MANIFEST_LIMITS.values.toLocaleString('en')} values, counting each alias as what it stands for.`,
    'Write out what you need, or split the document into files and import them.',
  );

export const tooManyKeys = () =>
  error(
    'too_many_keys',
    `This map has more than ${MANIFEST_LIMITS.keys.toLocaleString('en')} keys.`,
    'No manifest needs that. Is this file what it should be?',
  );

export const MERGE_KEY = error(
  'merge_key',
  'YAML 1.2 has no merge key "<<".',
  'Write the keys out; an alias (key: *anchor) may stand for a whole value.',
);

export const NOT_FINITE = error(
  'not_json',
  'Infinity and NaN are no numbers of JSON.',
  'Write a finite number.',
);

export const numberTooLarge = (source: string) =>
  error(
    'number_too_large',
    `The number ${quoted(source).slice(1, -1)} has more digits than a number can keep.`,
    'Put it in quotes if it is a name or an id.',
  );

export const anchorUnknown = (name: string) =>
  error(
    'anchor_unknown',
    `A value that begins with "*" is a YAML alias, and no anchor &${quoted(name).slice(1, -1)} stands above.`,
    `If it is meant as text, put it in quotes: ${quoted(`*${name}`)}.`,
  );

export const aliasCycle = (name: string) =>
  error('alias_cycle', `The alias *${name} stands inside what it stands for.`, 'Write the inner value out.');

export const customTag = (tag: string) =>
  error(
    'custom_tag',
    `Manifests have no tag ${quoted(tag)}.`,
    'Delete the tag; put a text that begins with "!" in quotes.',
  );

export const forbiddenKey = (key: string) =>
  error(
    'forbidden_key',
    `No key may be called ${quoted(key)}.`,
    'JavaScript keeps that name for itself: choose another.',
  );

export const duplicateKey = (key: string, firstLine: number, line: number) =>
  error(
    'duplicate_key',
    firstLine === line
      ? `The key ${quoted(key)} stands twice in line ${line}.`
      : `The key ${quoted(key)} stands in line ${firstLine} and again in line ${line}.`,
    'Keep one of them.',
  );

export function keyNotText(node: ParsedNode): Finding {
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
    'Write a name, and put "{" or "[" at the start of a text in quotes.',
  );
}

export const QUOTE_OPEN = error(
  'yaml_syntax',
  'The quote that is opened here is not closed.',
  'Add the closing quote.',
);
