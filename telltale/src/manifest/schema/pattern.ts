import { z } from 'zod';
import { compilePattern } from '../../conditions/linear-regex.ts';
import { type Finding, finding } from './finding.ts';

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
  const compiled = compilePattern(source);
  return compiled.ok ? undefined : compiled.error;
}
