import { readPath } from '../expressions/values.ts';
import { RuntimeError } from '../lib/errors.ts';
import type { JsonObject } from '../lib/json.ts';
import { nearest, suggest } from '../lib/nearest.ts';
import { isMap } from '../manifest/schema/plain-values.ts';
import { clip, showValue } from '../manifest/schema/show-value.ts';
import { compile, type SchemaErrors, TOO_COMPLEX_KEYWORD } from '../manifest/schema/user-schemas/ajv.ts';

/** Returns what is wrong with the parameters, and where. Undefined if they are fine. */
export type Check = (value: JsonObject) => RuntimeError | undefined;

/**
 * Checks a target's parameters against its schema, which loading the manifest has already validated. `what` names the
 * target: `tool "search"`. The schema is compiled at the first call, because that takes a millisecond and most tools
 * are never called.
 */
export function compileCheck(schema: JsonObject, what: string, whose = `The schema of ${what}`): Check {
  const violation = compileViolation(schema, whose);
  return (value) => {
    const found = violation(value);
    if (found === undefined || found instanceof RuntimeError) return found;
    const message = `The parameters of ${what} are wrong: ${found.message}`;
    return new RuntimeError('bad_parameters', message, { hint: found.hint });
  };
}

export interface ParameterViolation {
  readonly message: string;
  readonly hint?: string;
}

/**
 * Finds the first violation of a schema: where it is, what was found and what is allowed. Returns an error if the
 * schema itself is broken.
 */
export function compileViolation(
  schema: JsonObject,
  whose: string,
): (value: unknown) => ParameterViolation | RuntimeError | undefined {
  let validate: ReturnType<typeof compile> | RuntimeError | undefined;
  return (value) => {
    validate ??= compileSafely(schema, whose);
    if (validate instanceof RuntimeError) return validate;
    const errors = validate(value);
    if (errors.length === 0) return undefined;
    if (errors[0]?.keyword === TOO_COMPLEX_KEYWORD) return schemaTooComplex(whose);
    // Each alternative of an anyOf reports errors. The deepest one most likely belongs to the intended alternative.
    const [deepest] = errors.toSorted((a, b) => depth(b) - depth(a));
    return deepest === undefined ? undefined : describe(deepest, value, schema);
  };
}

function compileSafely(schema: JsonObject, whose: string): ReturnType<typeof compile> | RuntimeError {
  try {
    return compile(schema);
  } catch (cause) {
    return new RuntimeError('bad_schema', `${whose} cannot be compiled.`, { cause });
  }
}

const schemaTooComplex = (whose: string) =>
  new RuntimeError('schema_too_complex', `${whose} takes too many steps to check this value.`, {
    hint: 'Give a smaller value with less nesting. The author of the schema can fix it: it refers to itself in several alternatives.',
  });

type SchemaError = SchemaErrors[number];

const depth = ({ instancePath }: SchemaError) => instancePath.split('/').length;

function describe(error: SchemaError, root: unknown, schema: JsonObject): ParameterViolation {
  const steps = pathOf(error.instancePath, root);
  const value = readPath(root, steps);
  const place = error.instancePath === '' ? '' : `"${clip(error.instancePath, 200)}" `;
  const params: Readonly<Record<string, unknown>> = error.params;
  switch (error.keyword) {
    case 'required':
    case 'dependentRequired':
      return missingProperty(place, String(params.missingProperty), value, schema);
    case 'additionalProperties':
    case 'unevaluatedProperties': {
      const name = String(params.additionalProperty ?? params.unevaluatedProperty);
      const known = steps.length === 0 && isMap(schema.properties) ? Object.keys(schema.properties) : [];
      return {
        message: `there is no parameter "${clip(`${error.instancePath}/${name}`, 200)}".`,
        hint: known.length === 0 ? 'Leave it out.' : suggest(name, known, 'Parameters'),
      };
    }
    case 'enum': {
      const allowed = Array.isArray(params.allowedValues) ? params.allowedValues.map(String) : [];
      return {
        message: `${place}is ${showValue(value)}, which is not an allowed value.`,
        hint: suggest(String(value), allowed),
      };
    }
    case 'const':
      return { message: `${place}is ${showValue(value)}; it must be ${showValue(params.allowedValue)}.` };
    case 'type':
      return { message: `${place || 'it '}is ${showValue(value)}; it must be ${typeName(params.type)}.` };
    default:
      return { message: `${place || 'it '}is ${showValue(value)}; it ${error.message ?? 'does not fit'}.` };
  }
}

function missingProperty(
  place: string,
  missing: string,
  value: unknown,
  schema: JsonObject,
): ParameterViolation {
  const known = isMap(schema.properties) ? Object.keys(schema.properties) : [];
  const given = isMap(value) ? Object.keys(value).filter((key) => !known.includes(key)) : [];
  const slip = nearest(missing, given);
  return {
    message: place === '' ? `"${missing}" is missing.` : `${place}has no "${missing}".`,
    hint: slip === undefined ? `Give "${missing}".` : `"${slip}" was given: did you mean "${missing}"?`,
  };
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  null: 'null',
};

const typeName = (type: unknown): string =>
  (Array.isArray(type) ? type : String(type).split(','))
    .map((name) => TYPE_NAMES[String(name)] ?? name)
    .join(' or ');

/** A JSON pointer as a path, with numbers for list indexes. */
function pathOf(pointer: string, root: unknown): readonly (string | number)[] {
  const path: (string | number)[] = [];
  for (const part of pointer.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    path.push(Array.isArray(readPath(root, path)) ? Number(name) : name);
  }
  return path;
}
