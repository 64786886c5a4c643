import { RE2JS } from 're2js';
import { z } from 'zod';
import { type Finding, finding } from './finding.ts';
import { clip } from './show-value.ts';

export const MAX_PATTERN_LENGTH = 1024;

/** A regular expression as linear-time engines take it: no look-around, no back-references. Found anywhere in the text. */
export const pattern = (description: string) =>
  z
    .string()
    .check((ctx) => {
      const found = checkPattern(ctx.value);
      if (found !== undefined) ctx.issues.push(finding(ctx.value, found));
    })
    .meta({ description, expects: 'a regular expression' });

/** RE2 refuses exactly what can make matching slow, so what it takes is safe on any text a model writes. */
export function checkPattern(source: string): Finding | undefined {
  if (source.length > MAX_PATTERN_LENGTH)
    return bad(`The pattern has ${source.length} characters.`, `At most ${MAX_PATTERN_LENGTH} are allowed.`);
  try {
    RE2JS.compile(source);
    return undefined;
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    return bad(
      `The pattern "${clip(source)}" cannot be used: ${clip(why, 120)}.`,
      'Patterns are RE2: no look-ahead, look-behind or back-references; they are found anywhere in the text unless anchored with ^ and $.',
    );
  }
}

const bad = (message: string, hint: string): Finding => ({ code: 'bad_pattern', message, hint });
