import { RE2JS } from 're2js';
import { err, ok, type Result } from '../kernel/result.ts';
import { type Issue, quote } from './issue.ts';

/** A longer pattern is a program; it has no place in a condition. */
export const MAX_PATTERN_LENGTH = 512;
/** Instructions a pattern may compile to: `(a{30}){30}` is 962. Time is text × program in the worst case. */
const MAX_PROGRAM = 1_000;
/** Characters of text a pattern is tried on: with MAX_PROGRAM this bounds one search (measured: docs/decisions/cel.md). */
export const MAX_SEARCHED_LENGTH = 65_536;

/** A regular expression of RE2's syntax (no look-around, no back-references), so that no pattern can hang. */
export interface Pattern {
  readonly source: string;
  /** How many instructions it compiled to: what a search costs for each character, at the worst. */
  readonly programSize: number;
  /** Whether it is found anywhere in `text`. A text longer than MAX_SEARCHED_LENGTH is not searched: false. */
  test(text: string): boolean;
}

export function compilePattern(source: string): Result<Pattern, Issue<'bad_pattern'>> {
  if (source.length > MAX_PATTERN_LENGTH) return err(tooLong(source));
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(source);
  } catch (thrown) {
    return err(unreadable(source, thrown instanceof Error ? thrown.message : String(thrown)));
  }
  const programSize = compiled.programSize();
  if (programSize > MAX_PROGRAM) return err(tooLarge(source, programSize));
  return ok({
    source,
    programSize,
    test: (text) => text.length <= MAX_SEARCHED_LENGTH && compiled.matcher(text).find(),
  });
}

const tooLong = (source: string): Issue<'bad_pattern'> => ({
  code: 'bad_pattern',
  message: `The pattern ${quote(source)} has ${source.length} characters; ${MAX_PATTERN_LENGTH} are allowed.`,
  hint: 'Split it into several shorter patterns.',
});

const tooLarge = (source: string, size: number): Issue<'bad_pattern'> => ({
  code: 'bad_pattern',
  message: `The pattern ${quote(source)} compiles to ${size} instructions; ${MAX_PROGRAM} are allowed.`,
  hint: 'Use smaller repeat counts: a{500}b{500} is 1,000 instructions.',
});

function unreadable(source: string, reason: string): Issue<'bad_pattern'> {
  const why = reason.replace(/^error parsing regexp: /, '');
  const lookAround = /\(\?[=!<]/.test(source) || /\\[1-9]/.test(source);
  return {
    code: 'bad_pattern',
    message: `The pattern ${quote(source)} cannot be read: ${why}.`,
    hint: lookAround
      ? 'Patterns are of RE2 syntax: look-around and back-references are left out, so that no pattern can hang.'
      : 'Patterns are of RE2 syntax (https://github.com/google/re2/wiki/Syntax).',
  };
}
