import { z } from 'zod';
import { checkCel } from './checks/check-cel.ts';
import { finding } from './finding.ts';

/** What the environment may give for `false`; an unset variable gives the first. */
const FALSE = new Set(['', '0', 'false', 'no']);
const TRUE = new Set(['1', 'true', 'yes']);

/** The text form of `enabled`: what an environment variable gave, or CEL. */
export const enabledText = z
  .union([z.string(), z.number(), z.null()])
  .transform((value, ctx): string => {
    const text = value === null ? '' : String(value).trim();
    if (FALSE.has(text.toLowerCase())) return 'false';
    if (TRUE.has(text.toLowerCase())) return 'true';
    for (const found of checkCel(text))
      ctx.issues.push(finding(value, found) as z.core.$ZodRawIssue<z.core.$ZodIssueCustom>);
    return text;
  })
  .meta({ expects: 'true, false, an environment variable or a CEL expression' });
