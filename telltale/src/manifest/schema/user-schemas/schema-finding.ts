import type { IssuePath } from '../../diagnostic.ts';
import type { ValuesFinding } from '../values.ts';

/** A problem of a user's JSON Schema, at a path from the schema's own root. */
export interface SchemaFinding extends ValuesFinding {
  readonly path: IssuePath;
}

export const badSchema = (path: IssuePath, message: string, hint?: string): SchemaFinding => ({
  code: 'bad_schema',
  message,
  hint,
  path,
});

export const isFatal = (findings: readonly SchemaFinding[]): boolean =>
  findings.some(({ severity }) => severity !== 'warning');
