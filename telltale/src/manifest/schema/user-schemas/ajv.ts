import { createRequire } from 'node:module';
import type {
  Ajv2020,
  CodeKeywordDefinition,
  ErrorObject,
  FuncKeywordDefinition,
  Options,
} from 'ajv/dist/2020.js';
import { compilePattern, type Pattern } from '../../../expressions/linear-regex.ts';
import type { Json, JsonObject } from '../../../lib/json.ts';
import { canonicalJson } from '../../project/canonical-json.ts';
import { isMap } from '../plain-values.ts';
import { DATA_KEYWORDS, NAMING_KEYWORDS } from './walk-user-schema.ts';

/** Replaces JavaScript's regular expressions, which can hang. Ajv identifies patterns by `toString`. */
const linearRegExp = (budget: StepBudget) => (source: string) => {
  const compiled = compilePattern(source);
  if (!compiled.ok) throw new Error(compiled.error.message);
  return { test: budget.priced(compiled.value), toString: () => source };
};

/** Loaded with the first schema, because its 85 files take 40 ms and many manifests have no schema. */
const load = createRequire(import.meta.url);

/**
 * Formats are annotations only. References are followed, never inlined. Inherited members (`toString`) are not
 * properties. Ajv's code optimization is off, because it takes quadratic time in a schema's width and gains nothing.
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

/** Ajv with only the meta-schema, which takes 25 ms to compile. It is shared because it never changes. */
export function metaSchema(): Ajv2020 {
  meta ??= newAjv({ allErrors: true }, new StepBudget());
  return meta;
}

/** What is wrong with a value. Empty if it satisfies the schema. */
export type SchemaErrors = readonly Pick<ErrorObject, 'instancePath' | 'keyword' | 'params' | 'message'>[];

/**
 * Compiles in a separate ajv, so nothing is left behind and a `$id` never meets another one. It may throw. The returned
 * function does not, and it takes a bounded number of steps whatever the schema and the value are.
 */
export function compile(schema: JsonObject): (value: unknown) => SchemaErrors {
  const budget = new StepBudget();
  const validate = newAjv({ meta: false, validateSchema: false }, budget).compile(withSteps(schema));
  return (value) => {
    try {
      if (budget.run(value, () => validate(value))) return NO_ERRORS;
      const { errors } = validate;
      return errors?.length ? errors : UNSATISFIED; // A value that was refused without an error is still refused.
    } catch (thrown) {
      if (thrown instanceof TooManySteps) return TOO_COMPLEX;
      if (thrown instanceof RangeError) return TOO_DEEP; // A recursive schema follows the value down.
      throw thrown;
    } finally {
      validate.errors = null; // A schema that is kept must not keep its last errors.
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

/** The keyword of the single error of a validation that was given up. */
export const TOO_COMPLEX_KEYWORD = 'x-telltale-too-complex';

const TOO_COMPLEX: SchemaErrors = [
  {
    instancePath: '',
    keyword: TOO_COMPLEX_KEYWORD,
    params: {},
    message: 'takes too many steps to check with this schema',
  },
];

/**
 * How much work a schema may do on one value. A small schema that refers to itself twice doubles the work at each level
 * of a value, so neither size bounds it. Counting steps gives the same result on every machine.
 */
const MAX_STEPS = 1_000_000;
/** The additional steps for each part of a large value. */
const STEPS_A_PART = 16;
/** How many characters may be compared or searched in one step. */
const CHARS_A_STEP = 64;
/** How many characters of a value may be serialized, for comparison, in one step. */
const WRITTEN_A_STEP = 8;
/** Characters times pattern instructions in one step. */
const SEARCH_A_STEP = 256;
/** The steps for each key of an object, for keywords such as `additionalProperties`. */
const STEPS_A_KEY = 4;
/** How many characters of a schema's own lists are compared in one step. */
const DATA_A_STEP = 512;

/** The cost of checking a value with one part of a schema: a constant part, and a part per key of an object. */
interface PartCost {
  readonly once: number;
  readonly aKey: number;
}

/** Ends a validation that takes too many steps. */
class TooManySteps extends Error {}

/** Counts the steps of one validation at a time. Validations are synchronous. */
class StepBudget {
  #left = MAX_STEPS;
  #root: unknown;
  #isExtended = false;
  #sizes = new Map<object, number>();

  /** Runs one validation of `root`. */
  run<T>(root: unknown, validate: () => T): T {
    this.#left = MAX_STEPS;
    this.#root = root;
    this.#isExtended = false;
    try {
      return validate();
    } finally {
      this.#root = undefined;
      this.#sizes = new Map();
    }
  }

  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left >= 0) return;
    if (!this.#isExtended) {
      this.#isExtended = true;
      this.#left += Math.max(0, partsOf(this.#root) * STEPS_A_PART - MAX_STEPS);
    }
    if (this.#left < 0) throw new TooManySteps();
  }

  /** Called before one part of a schema checks this value. */
  #judge(value: unknown, once: number, aKey: number): void {
    if (typeof value === 'string') this.spend(once + value.length / CHARS_A_STEP);
    else if (aKey > 0 && typeof value === 'object' && value !== null)
      this.spend(once + this.#keysOf(value) * aKey);
    else this.spend(once);
  }

  #keysOf(value: object): number {
    if (Array.isArray(value)) return 0; // The schemas of the items count each item.
    const known = this.#sizes.get(value);
    if (known !== undefined) return known;
    const count = Object.keys(value).length;
    this.#sizes.set(value, count);
    return count;
  }

  /** A pattern whose searches count as steps. */
  priced({ test, programSize }: Pattern): (text: string) => boolean {
    return (text) => {
      this.spend((text.length * programSize) / SEARCH_A_STEP);
      return test(text);
    };
  }

  /** Ajv compares each item with every other: 20,000 objects, which a model can write, took it 8 s. */
  uniqueItems(): FuncKeywordDefinition {
    return {
      keyword: 'uniqueItems',
      type: 'array',
      schemaType: 'boolean',
      error: { message: 'must NOT have duplicate items' },
      compile: (isAsked: boolean) => (items: readonly Json[]) => !isAsked || this.#areUnique(items),
    };
  }

  #areUnique(items: readonly Json[]): boolean {
    const scalars = new Set<Json>();
    const others = new Set<string>();
    for (const item of items) {
      this.spend(1);
      if (typeof item === 'object' && item !== null) others.add(this.#canonical(item));
      else scalars.add(item);
    }
    return scalars.size + others.size === items.length;
  }

  #canonical(value: Json): string {
    const text = canonicalJson(value);
    this.spend(text.length / WRITTEN_A_STEP);
    return text;
  }

  /** The keyword that `withSteps` adds to each part of a schema. It becomes one call in ajv's generated code. */
  step({ _ }: Pick<typeof import('ajv/dist/2020.js'), '_'>): CodeKeywordDefinition {
    const judge = (value: unknown, once: number, aKey: number) => this.#judge(value, once, aKey);
    return {
      keyword: STEP,
      schemaType: 'object',
      code: ({ gen, data, schema }) => {
        const { once, aKey } = schema as PartCost;
        gen.code(_`${gen.scopeValue('func', { ref: judge })}(${data}, ${once}, ${aKey})`);
      },
    };
  }
}

/** No schema can use this keyword, because `walkUserSchema` treats keys with this prefix as annotations. */
const STEP = 'x-telltale-step';

/** A copy of a schema in which each part counts its steps before it checks a value. */
function withSteps(schema: JsonObject): JsonObject {
  return stepping(schema) as JsonObject;
}

function stepping(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(stepping);
  if (!isMap(schema)) return schema;
  const copy: Record<string, Json> = { [STEP]: { ...costOf(schema as JsonObject) } };
  for (const [key, value] of Object.entries(schema as JsonObject)) {
    if (key === STEP) continue;
    let inner: Json = value;
    if (NAMING_KEYWORDS.has(key) && isMap(value))
      inner = Object.fromEntries(
        Object.entries(value as JsonObject).map(([name, part]) => [name, stepping(part)]),
      );
    else if (!DATA_KEYWORDS.has(key) && !key.startsWith('x-')) inner = stepping(value);
    Object.defineProperty(copy, key, { value: inner, enumerable: true, configurable: true, writable: true });
  }
  return copy;
}

/** The constant cost of one check: comparing lists of allowed values and required names. */
function costOf(schema: JsonObject): PartCost {
  const { enum: allowed, const: only, required, dependentRequired, patternProperties } = schema;
  let characters = 0;
  for (const data of [allowed, only, required, dependentRequired])
    if (typeof data === 'object' && data !== null) characters += JSON.stringify(data).length;
  const loops = KEY_LOOPS.filter((keyword) => Object.hasOwn(schema, keyword)).length;
  const patterns = isMap(patternProperties) ? Object.keys(patternProperties).length : 0;
  return { once: 1 + characters / DATA_A_STEP, aKey: (loops + patterns) * STEPS_A_KEY };
}

/** Keywords that visit all keys of an object. */
const KEY_LOOPS = [
  'additionalProperties',
  'unevaluatedProperties',
  'propertyNames',
  'minProperties',
  'maxProperties',
  'dependentSchemas',
];

/** Counts nested values without recursion, because they may be nested to any depth. */
function partsOf(root: unknown): number {
  const open: unknown[] = [root];
  let parts = 0;
  while (open.length > 0) {
    const value = open.pop();
    parts++;
    if (typeof value === 'string') parts += value.length / CHARS_A_STEP;
    else if (typeof value === 'object' && value !== null)
      for (const inner of Object.values(value)) open.push(inner);
  }
  return parts;
}
