import { RuntimeError } from '../lib/errors.ts';
import { nearest } from '../lib/nearest.ts';
import type { Place } from './intents.ts';
import type { TagParserOptions } from './tags/tag-parser.ts';

const PLACES: readonly unknown[] = ['outside', 'thought', 'response'] satisfies readonly Place[];

const MUST_BE: { readonly [Option in keyof Required<TagParserOptions>]: string } = {
  max_body: 'a whole number of characters, such as 64 * 1024, or Infinity for no limit',
  actions_in: 'a list of "outside", "thought" and "response"',
  key: 'a text that is not empty; left out, there is no seal',
  ids: 'a Set of ids, to which the parser adds',
};

const PARSER_OPTIONS: readonly string[] = Object.keys(MUST_BE);

/**
 * Refuses what a parser does not take, for the entry that programs import: a misspelt `max_body` would be no limit, and
 * a misspelt `key` no seal. Parsers of sessions are made of manifests, which are checked.
 */
export function checkOptions(call: string, options: unknown, others: readonly string[] = []): void {
  if (typeof options !== 'object' || options === null) throw noOptions(call);
  const known = [...PARSER_OPTIONS, ...others];
  for (const option of Object.keys(options))
    if (!known.includes(option)) throw unknownOption(call, option, known);
  const given: { readonly [option: string]: unknown } = { ...options };
  for (const [option, mustBe] of Object.entries(MUST_BE)) {
    if (given[option] !== undefined && !isTaken(option, given[option])) throw notTaken(call, option, mustBe);
  }
}

function isTaken(option: string, value: unknown): boolean {
  if (option === 'max_body')
    return value === Number.POSITIVE_INFINITY || (Number.isSafeInteger(value) && (value as number) >= 0);
  if (option === 'actions_in') return Array.isArray(value) && value.every((place) => PLACES.includes(place));
  if (option === 'key') return typeof value === 'string' && value !== '';
  return value instanceof Set;
}

const noOptions = (call: string) =>
  new RuntimeError('bad_option', `${call} was given options that are no object.`, {
    hint: 'Give { max_body, actions_in, key, ids }, or nothing.',
  });

const unknownOption = (call: string, option: string, known: readonly string[]) => {
  const near = nearest(option, known);
  return new RuntimeError('bad_option', `${call} has no option "${option}".`, {
    hint: `${near === undefined ? '' : `Did you mean "${near}"? `}It takes: ${known.join(', ')}.`,
  });
};

const notTaken = (call: string, option: string, mustBe: string) =>
  new RuntimeError('bad_option', `${call} was given a "${option}" that it does not take.`, {
    hint: `Give ${mustBe}.`,
  });
