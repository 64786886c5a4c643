import { z } from 'zod';
import { checkCel } from './checks/check-cel.ts';
import { finding } from './finding.ts';

/** A CEL expression, parsed when the manifest is checked; the manifest keeps its source. */
export const cel = (description: string) =>
  z
    .string()
    .check((ctx) => {
      for (const found of checkCel(ctx.value)) ctx.issues.push(finding(ctx.value, found));
    })
    .register(z.globalRegistry, { description, expects: 'a CEL expression' });

/** Where CEL decides, `true` and `false` may stand unquoted: that is what an environment variable leaves there. */
export const celOrBoolean = (description: string) =>
  z
    .boolean()
    .transform((value) => (value ? 'true' : 'false'))
    .register(z.globalRegistry, { description });
