import type { z } from 'zod';
import type { Json } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Issue } from '../issue.ts';
import { translateIssue } from './translate-issue.ts';

/**
 * What a schema makes of a document, and all that is wrong with it. Zod's raw issues are read, since they still know
 * the schema that raised them; `output` is whole only where there is no error.
 * Without zod's generated code: a schema is used once or twice, and the first use takes 16 ms with it, 8 without.
 */
export function runSchema<S extends z.core.$ZodType>(
  schema: S,
  document: Json,
): { readonly output: z.output<S>; readonly issues: readonly Issue[] } {
  const result = schema._zod.run({ value: document, issues: [] }, { async: false, jitless: true });
  if (result instanceof Promise) throw neverAsync();
  return {
    output: result.value as z.output<S>,
    issues: withoutEchoes(result.issues.flatMap(translateIssue)),
  };
}

/** Zod measures whatever has a length: an empty list in place of a text is of the wrong type, and not too short as well. */
function withoutEchoes(issues: readonly Issue[]): readonly Issue[] {
  const place = ({ path }: Issue) => JSON.stringify(path);
  const mistyped = new Set(issues.filter(({ code }) => code === 'wrong_type').map(place));
  return issues.filter((issue) => issue.code !== 'not_allowed' || !mistyped.has(place(issue)));
}

const neverAsync = () =>
  new RuntimeError('internal', 'A manifest schema is asynchronous.', {
    hint: 'Use a schema without async checks.',
  });
