import type { StandardSchemaV1 } from '@standard-schema/spec';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { clip } from '../../manifest/schema/show-value.ts';
import { placedCause, thrownMessage } from '../output/thrown-message.ts';

/** What a schema made of a value, or what is wrong with it, in words. */
export type Validated =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: string };

/** Asks any Standard Schema. A promise only where the schema's own answer is one. What it throws is `schema_failed`. */
export function validate(schema: StandardSchemaV1, value: unknown): Validated | Promise<Validated> {
  let result: ReturnType<StandardSchemaV1['~standard']['validate']>;
  try {
    result = schema['~standard'].validate(value);
  } catch (thrown) {
    throw schemaFailed(thrown);
  }
  if (!(result instanceof Promise)) return validated(result);
  return result.then(validated, (thrown: unknown) => {
    throw schemaFailed(thrown);
  });
}

const validated = (result: StandardSchemaV1.Result<unknown>): Validated =>
  result.issues ? { ok: false, problem: describeIssues(result.issues) } : { ok: true, value: result.value };

const MAX_ISSUES = 3;
const MAX_MESSAGE = 500;

/** `"/items/0/price": Expected a number`, at most three of them. */
function describeIssues(issues: readonly StandardSchemaV1.Issue[]): string {
  const shown = issues.slice(0, MAX_ISSUES).map(describeIssue);
  const left = issues.length - shown.length;
  if (shown.length === 0) return 'it does not satisfy the schema.';
  return left === 0 ? shown.join(' ') : `${shown.join(' ')} And ${left} more.`;
}

function describeIssue({ message, path = [] }: StandardSchemaV1.Issue): string {
  const steps = path.map((step) => (typeof step === 'object' ? step.key : step));
  const pointer = steps
    .map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('');
  const sentence = /[.!?]$/.test(message) ? message : `${message}.`;
  const words = clip(sentence, MAX_MESSAGE);
  return pointer === '' ? words : `"${clip(pointer, 200)}": ${words}`;
}

const schemaFailed = (thrown: unknown) =>
  new RuntimeError('schema_failed', `The schema fails by itself: ${thrownMessage(thrown)}`, {
    hint: 'A check or a transform of it throws. Let it report what is wrong with the value instead.',
    cause: placedCause(thrown),
  });

export const badParameters = (what: string, problem: string) =>
  new RuntimeError('bad_parameters', `The parameters of ${what} are wrong: ${problem}`, {
    hint: 'Give parameters that its schema allows.',
  });

export const badOutput = (what: string, problem: string) =>
  new RuntimeError('bad_output', `The result of ${what} does not fit its "output": ${problem}`, {
    hint: 'Correct what it returns, or its schema.',
  });
