import type { Json, JsonObject } from '../../../kernel/json.ts';
import { err, ok, type Result } from '../../../kernel/result.ts';
import { clip } from '../show-value.ts';
import { compile, metaSchema } from './ajv.ts';
import { checkExpansion } from './check-expansion.ts';
import { isPlainSchema } from './is-plain-schema.ts';
import { metaFindings } from './meta-findings.ts';
import { badSchema, isFatal, type SchemaFinding } from './schema-finding.ts';
import { walkUserSchema } from './walk-user-schema.ts';

/**
 * Everything wrong with a user's JSON Schema. Bounded before ajv sees it: ajv generates code and follows
 * references, so size, depth, patterns and where references lead are judged first.
 */
export function checkUserSchema(schema: Readonly<Record<string, unknown>>): readonly SchemaFinding[] {
  const findings = checkWithoutCompiling(schema);
  if (isFatal(findings) || isPlainSchema(schema)) return findings;
  const compiled = compiledOrNot(schema);
  return compiled.ok ? findings : [...findings, compiled.error];
}

/** The same but for what only shows when ajv compiles it, which takes much longer than all the rest. */
export function checkWithoutCompiling(schema: Readonly<Record<string, unknown>>): readonly SchemaFinding[] {
  const findings = walkUserSchema(schema);
  if (isFatal(findings) || isPlainSchema(schema)) return findings;
  const meta = metaSchema();
  if (!meta.validateSchema(schema as JsonObject))
    return [...findings, ...metaFindings(schema, meta.errors ?? [])];
  const expansion = checkExpansion(schema);
  return [...findings, ...expansion];
}

function compiledOrNot(
  schema: Readonly<Record<string, unknown>>,
): Result<ReturnType<typeof compile>, SchemaFinding> {
  try {
    return ok(compile(schema as JsonObject));
  } catch (thrown) {
    if (thrown instanceof RangeError)
      return err(badSchema([], TOO_LONG_CHAIN, 'Use fewer nested references.'));
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    return err(badSchema([], `This JSON Schema cannot be used: ${clip(why, 200)}.`));
  }
}

const TOO_LONG_CHAIN = 'The references of this JSON Schema are nested too deep.';

/** Says why a value does not satisfy the schema, or undefined if it does. */
export type SchemaViolation = (value: Json) => string | undefined;

/** A user's JSON Schema made ready to judge any number of values, or what is wrong with it. */
export function compileUserSchema(
  schema: Readonly<Record<string, unknown>>,
): Result<SchemaViolation, readonly SchemaFinding[]> {
  const findings = checkUserSchema(schema);
  if (isFatal(findings)) return err(findings);
  const compiled = compiledOrNot(schema);
  if (!compiled.ok) return err([...findings, compiled.error]);
  const validate = compiled.value;
  return ok((value) => {
    const [first] = validate(value);
    if (first === undefined) return undefined;
    return `${first.instancePath === '' ? 'it' : first.instancePath} ${first.message ?? 'does not satisfy the schema'}`;
  });
}
