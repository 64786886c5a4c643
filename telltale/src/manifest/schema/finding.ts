import type { z } from 'zod';

/** What a schema of ours says of a value, in the user's words; zod carries it as the params of a custom issue. */
export interface Finding {
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
  readonly at?: 'key' | 'value';
  readonly offset?: number | undefined;
  readonly severity?: 'error' | 'warning';
}

/** `continue` keeps zod checking what stands beside it: all errors of a document are wanted, not the first. */
export const finding = (
  input: unknown,
  found: Finding,
  path: readonly (string | number)[] = [],
): z.core.$ZodRawIssue => ({
  code: 'custom',
  input,
  params: { ...found },
  path: [...path],
  continue: true,
});
