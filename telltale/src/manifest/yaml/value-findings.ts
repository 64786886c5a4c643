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
    `The document has more than ${MANIFEST_LIMITS.values.toLocaleString('en')} values. Each alias counts as all the values that it repeats.`,
    'Use fewer aliases, or split the document into files and import them.',
  );

export const tooManyKeys = () =>
  error(
    'too_many_keys',
    `This map has more than ${MANIFEST_LIMITS.keys.toLocaleString('en')} keys.`,
    'No manifest needs that many. Is this the right file?',
  );

export const MERGE_KEY = error(
  'merge_key',
  'YAML 1.2 has no merge key "<<".',
  'Write the keys out. An alias (key: *anchor) can replace a whole value.',
);

export const NOT_FINITE = error('not_json', 'JSON has no Infinity or NaN.', 'Write a finite number.');

export const numberTooLarge = (source: string) =>
  error(
    'number_too_large',
    `The number ${quoted(source).slice(1, -1)} has too many digits to be stored exactly.`,
    'Put it in quotes if it is a name or an id.',
  );

export const anchorUnknown = (name: string) =>
  error(
    'anchor_unknown',
    `A value that starts with "*" is a YAML alias, but there is no anchor &${quoted(name).slice(1, -1)} above.`,
    `If you mean text, put it in quotes: ${quoted(`*${name}`)}.`,
  );

export const aliasCycle = (name: string) =>
  error(
    'alias_cycle',
    `The alias *${name} refers to a value that contains it.`,
    'Write the inner value out instead.',
  );

export const customTag = (tag: string) =>
  error(
    'custom_tag',
    `YAML tags such as ${quoted(tag)} are not supported.`,
    'Delete the tag. If you mean text that starts with "!", put it in quotes.',
  );

export const forbiddenKey = (key: string) =>
  error(
    'forbidden_key',
    `A key cannot be named ${quoted(key)}.`,
    'JavaScript reserves that name. Choose another one.',
  );

export const duplicateKey = (key: string, firstLine: number, line: number) =>
  error(
    'duplicate_key',
    firstLine === line
      ? `The key ${quoted(key)} is twice in line ${line}.`
      : `The key ${quoted(key)} is in line ${firstLine} and again in line ${line}.`,
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
    'Write a name. If you mean text that starts with "{" or "[", put it in quotes.',
  );
}

export const QUOTE_OPEN = error(
  'yaml_syntax',
  'The quote that starts here is not closed.',
  'Add the closing quote.',
);
