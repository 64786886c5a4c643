import { RE2JS } from 're2js';
import { err, ok, type Result } from '../lib/errors.ts';
import { type ConditionConditionIssue, quote } from './issue.ts';

/** A longer pattern is a program; it has no place in a condition. */
const MAX_PATTERN_LENGTH = 512;
/** Instructions a pattern may compile to: `(a{20}){20}` is 442. */
const MAX_PROGRAM = 512;
/**
 * Characters times instructions of one search. The two engines of the library, measured with the worst patterns found:
 * the lazy DFA (`test`) takes 0.02 µs a character on most patterns and 1 µs a character and instruction on those that
 * make a new state at each character; the NFA (`find`) 0.07 µs on any. So short searches use the first, long ones the
 * second, and none takes more than about 0.25 s.
 */
const MAX_DFA_SEARCH = 65_536;
const MAX_SEARCH = 2_097_152;
const MAX_SEARCHED_LENGTH = 65_536;

/** A regular expression of RE2's syntax (no look-around, no back-references), so that no pattern can hang. */
export interface Pattern {
  readonly source: string;
  /** How many instructions it compiled to: what a search costs for each character, at the worst. */
  readonly programSize: number;
  /** The longest text it is tried on: 65,536 characters up to 32 instructions, fewer for larger patterns. */
  readonly maxLength: number;
  /** Whether it is found anywhere in `text`. A text longer than `maxLength` is not searched: false. */
  test(text: string): boolean;
}

export function compilePattern(source: string): Result<Pattern, ConditionConditionIssue<'bad_pattern'>> {
  if (source.length > MAX_PATTERN_LENGTH) return err(tooLong(source));
  // Compiling a{1000}… takes up to half a second, so that a pattern which is far too large is not even compiled.
  if (expandedSize(source) > 8 * MAX_PROGRAM) return err(tooLarge(source, expandedSize(source)));
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(source);
  } catch (thrown) {
    return err(unreadable(source, thrown instanceof Error ? thrown.message : String(thrown)));
  }
  const programSize = compiled.programSize();
  if (programSize > MAX_PROGRAM) return err(tooLarge(source, programSize));
  const maxLength = Math.min(MAX_SEARCHED_LENGTH, Math.floor(MAX_SEARCH / programSize));
  const test = (text: string) => {
    if (text.length > maxLength) return false;
    return text.length * programSize <= MAX_DFA_SEARCH ? compiled.test(text) : compiled.matcher(text).find();
  };
  return ok({ source, programSize, maxLength, test });
}

const tooLong = (source: string): ConditionConditionIssue<'bad_pattern'> => ({
  code: 'bad_pattern',
  message: `The pattern ${quote(source)} has ${source.length} characters; ${MAX_PATTERN_LENGTH} are allowed.`,
  hint: 'Split it into several shorter patterns.',
});

const tooLarge = (source: string, size: number): ConditionConditionIssue<'bad_pattern'> => ({
  code: 'bad_pattern',
  message: `The pattern ${quote(source)} compiles to about ${size} instructions; ${MAX_PROGRAM} are allowed.`,
  hint: 'Use smaller repeat counts: a{200} alone is 200 instructions.',
});

function unreadable(source: string, reason: string): ConditionConditionIssue<'bad_pattern'> {
  const why = reason.replace(/^error parsing regexp: /, '');
  const lookAround = /\(\?<?[=!]/.test(source) || /\\[1-9]/.test(source);
  return {
    code: 'bad_pattern',
    message: `The pattern ${quote(source)} cannot be read: ${why}.`,
    hint: lookAround
      ? 'Patterns are of RE2 syntax: look-around and back-references are left out, so that no pattern can hang.'
      : 'Patterns are of RE2 syntax: https://github.com/google/re2/wiki/Syntax.',
  };
}

const REPEAT = /\{(\d{1,4})(?:,(\d{0,4}))?\}/y;
/** A character class, or an escape that goes on in braces: one instruction, whatever is in it. */
const ONE_ATOM = /\\[pPx]\{[^}]*\}|\\[\s\S]|\[\^?\]?(?:\\[\s\S]|[^\]\\])*\]/y;

/**
 * About how many instructions a pattern expands to: repeat counts multiply what they stand behind. Too large rather
 * than too small, and linear in the pattern, since it guards the compiler.
 */
export function expandedSize(pattern: string): number {
  const groups: { total: number; last: number }[] = [];
  let group = { total: 0, last: 0 };
  const atom = (size: number) => {
    group.total += size;
    group.last = size;
  };
  for (let at = 0; at < pattern.length; ) {
    const repeat = matchAt(REPEAT, pattern, at);
    const one = repeat === null ? matchAt(ONE_ATOM, pattern, at) : null;
    if (repeat !== null) {
      const times = Math.max(Number(repeat[1]), Number(repeat[2] ?? 0), 1);
      group.total += group.last * (times - 1);
      group.last *= times;
    } else if (one !== null) atom(1);
    else if (pattern[at] === '(') {
      groups.push(group);
      group = { total: 2, last: 0 };
    } else if (pattern[at] === ')') {
      const inner = group.total;
      group = groups.pop() ?? { total: 0, last: 0 };
      atom(inner);
    } else if (!'*+?|'.includes(pattern[at] ?? '')) atom(1);
    else group.total += 1;
    at += repeat?.[0].length ?? one?.[0].length ?? 1;
  }
  return groups.reduce((sum, open) => sum + open.total, group.total);
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}
