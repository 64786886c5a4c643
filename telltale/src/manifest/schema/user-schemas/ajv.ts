import { createRequire } from 'node:module';
import type { Ajv2020, ErrorObject, Options } from 'ajv/dist/2020.js';
import { compilePattern } from '../../../conditions/linear-regex.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { StepBudget, TooManySteps, withSteps } from './step-budget.ts';

/** In place of JavaScript's own engine, which a pattern can hang. Ajv tells patterns apart by `toString`. */
const linearRegExp = (budget: StepBudget) => (source: string) => {
  const compiled = compilePattern(source);
  if (!compiled.ok) throw new Error(compiled.error.message);
  return { test: budget.priced(compiled.value), toString: () => source };
};

/** At the first schema, not at the start: its 85 files take 40 ms, and many manifests have none. */
const load = createRequire(import.meta.url);

/**
 * Formats are notes only; references are followed, never inlined; what an object inherits (`toString`) is none of its
 * properties. What ajv generates is not optimized: that takes time by the square of a schema's width, and gains nothing.
 */
function newAjv(options: Options, budget: StepBudget): Ajv2020 {
  const loaded = load('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js');
  const regExp = Object.assign(linearRegExp(budget), { code: 'linear' });
  const ajv = new loaded.Ajv2020({
    strict: false,
    validateFormats: false,
    inlineRefs: false,
    ownProperties: true,
    logger: false,
    code: { regExp, optimize: false },
    ...options,
  });
  ajv.removeKeyword('uniqueItems').addKeyword(budget.uniqueItems()).addKeyword(budget.step(loaded));
  return ajv;
}

let meta: Ajv2020 | undefined;

/** Ajv with nothing in it but the meta-schema, whose compilation takes 25 ms: shared, since it is a constant. */
export function metaSchema(): Ajv2020 {
  meta ??= newAjv({ allErrors: true }, new StepBudget());
  return meta;
}

/** What is wrong with a value; nothing, if it satisfies the schema. */
export type SchemaErrors = readonly Pick<ErrorObject, 'instancePath' | 'keyword' | 'params' | 'message'>[];

/**
 * In an ajv of its own, so that nothing stays behind and a `$id` never meets another's. May throw; what it returns does
 * not, and takes a bounded number of steps whatever the schema and the value are.
 */
export function compile(schema: JsonObject): (value: unknown) => SchemaErrors {
  const budget = new StepBudget();
  const validate = newAjv({ meta: false, validateSchema: false }, budget).compile(withSteps(schema));
  return (value) => {
    try {
      if (budget.run(value, () => validate(value))) return NO_ERRORS;
      const { errors } = validate;
      return errors?.length ? errors : UNSATISFIED; // a value that is refused without a word is refused
    } catch (thrown) {
      if (thrown instanceof TooManySteps) return TOO_COMPLEX;
      if (thrown instanceof RangeError) return TOO_DEEP; // a schema that refers to itself follows the value down
      throw thrown;
    } finally {
      validate.errors = null; // a schema that is kept must not keep what it found wrong
    }
  };
}

const NO_ERRORS: SchemaErrors = [];

const UNSATISFIED: SchemaErrors = [
  { instancePath: '', keyword: '', params: {}, message: 'does not satisfy the schema' },
];

const TOO_DEEP: SchemaErrors = [
  { instancePath: '', keyword: '$ref', params: {}, message: 'is nested too deep to be checked' },
];

/** The keyword of the one error of a validation that was given up. */
export const TOO_COMPLEX_KEYWORD = 'x-telltale-too-complex';

const TOO_COMPLEX: SchemaErrors = [
  {
    instancePath: '',
    keyword: TOO_COMPLEX_KEYWORD,
    params: {},
    message: 'takes too many steps to check with this schema',
  },
];
