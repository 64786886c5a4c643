import { createRequire } from 'node:module';
import type { Ajv2020, ErrorObject, FuncKeywordDefinition, Options } from 'ajv/dist/2020.js';
import { compilePattern } from '../../../conditions/linear-regex.ts';
import type { Json, JsonObject } from '../../../kernel/json.ts';
import { canonicalJson } from '../../project/canonical-json.ts';

/** In place of JavaScript's own engine, which a pattern can hang. Ajv tells patterns apart by `toString`. */
const linearRegExp = (source: string) => {
  const compiled = compilePattern(source);
  if (!compiled.ok) throw new Error(compiled.error.message);
  return { test: compiled.value.test, toString: () => source };
};

/** At the first schema, not at the start: its 85 files take 40 ms, and many manifests have none. */
const load = createRequire(import.meta.url);

/** Ajv's own compares each item with each other one: 20,000 objects, which a model can write, took it 8 s. */
const linearUniqueItems: FuncKeywordDefinition = {
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  error: { message: 'must NOT have duplicate items' },
  compile: (isAsked: boolean) => (items: readonly Json[]) => !isAsked || areUnique(items),
};

function areUnique(items: readonly Json[]): boolean {
  const scalars = new Set<Json>();
  const others = new Set<string>();
  for (const item of items) {
    if (typeof item === 'object' && item !== null) others.add(canonicalJson(item));
    else scalars.add(item);
  }
  return scalars.size + others.size === items.length;
}

/**
 * Formats are notes only; references are followed, never inlined; what an object inherits (`toString`) is none of its
 * properties. What ajv generates is not optimized: that takes time by the square of a schema's width, and gains nothing.
 */
function newAjv(options: Options): Ajv2020 {
  const { Ajv2020 } = load('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js');
  const regExp = Object.assign(linearRegExp, { code: 'linear' });
  const ajv = new Ajv2020({
    strict: false,
    validateFormats: false,
    inlineRefs: false,
    ownProperties: true,
    logger: false,
    code: { regExp, optimize: false },
    ...options,
  });
  ajv.removeKeyword('uniqueItems').addKeyword(linearUniqueItems);
  return ajv;
}

let meta: Ajv2020 | undefined;

/** Ajv with nothing in it but the meta-schema, whose compilation takes 25 ms: shared, since it is a constant. */
export function metaSchema(): Ajv2020 {
  meta ??= newAjv({ allErrors: true });
  return meta;
}

/** What is wrong with a value; nothing, if it satisfies the schema. */
export type SchemaErrors = readonly Pick<ErrorObject, 'instancePath' | 'keyword' | 'params' | 'message'>[];

/** In an ajv of its own, so that nothing stays behind and a `$id` never meets another's. May throw; what it returns does not. */
export function compile(schema: JsonObject): (value: unknown) => SchemaErrors {
  const validate = newAjv({ meta: false, validateSchema: false }).compile(schema);
  return (value) => {
    try {
      if (validate(value)) return NO_ERRORS;
      const { errors } = validate;
      return errors?.length ? errors : UNSATISFIED; // a value that is refused without a word is refused
    } catch (thrown) {
      if (thrown instanceof RangeError) return TOO_DEEP; // a schema that refers to itself follows the value down
      throw thrown;
    }
  };
}

const NO_ERRORS: SchemaErrors = [];

const UNSATISFIED: SchemaErrors = [
  { instancePath: '', keyword: '', params: {}, message: 'does not satisfy the schema' },
];

const TOO_DEEP: SchemaErrors = [
  { instancePath: '', keyword: '$ref', params: {}, message: 'is nested too deep to be judged' },
];
