import type { CodeKeywordDefinition, FuncKeywordDefinition } from 'ajv/dist/2020.js';
import type { Pattern } from '../../../conditions/linear-regex.ts';
import type { Json, JsonObject } from '../../../kernel/json.ts';
import { canonicalJson } from '../../project/canonical-json.ts';
import { isMap } from '../is-map.ts';
import { DATA_KEYWORDS, NAMING_KEYWORDS } from './schema-keywords.ts';

/**
 * How much work one value may be for a schema. A small schema that refers to itself twice doubles the work at each level
 * of a value, so neither the size of the schema nor that of the value bounds it. The count is the same on every machine.
 */
const MAX_STEPS = 1_000_000;
/** A large value may take more: so many steps for each of its parts. */
const STEPS_A_PART = 16;
/** Characters that are compared or searched for the price of one step. */
const CHARS_A_STEP = 64;
/** Characters of a value that is written out, to compare it with others. */
const WRITTEN_A_STEP = 8;
/** Characters times instructions of a pattern for one step. */
const SEARCH_A_STEP = 256;
/** One key of an object that a keyword such as `additionalProperties` goes through. */
const STEPS_A_KEY = 4;
/** Characters of a schema's own lists that are gone through for one step. */
const DATA_A_STEP = 512;

/** What it costs to judge a value by one part of a schema, whatever the value is, and for each key of an object. */
interface PartCost {
  readonly once: number;
  readonly aKey: number;
}

/** Thrown out of a validation that takes too many steps. */
export class TooManySteps extends Error {}

/** Counts the steps of one validation at a time: a validation never waits for anything. */
export class StepBudget {
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

  /** One part of a schema is about to judge this value. */
  #judge(value: unknown, once: number, aKey: number): void {
    if (typeof value === 'string') this.spend(once + value.length / CHARS_A_STEP);
    else if (aKey > 0 && typeof value === 'object' && value !== null)
      this.spend(once + this.#keysOf(value) * aKey);
    else this.spend(once);
  }

  #keysOf(value: object): number {
    if (Array.isArray(value)) return 0; // what judges its items is counted for each of them
    const known = this.#sizes.get(value);
    if (known !== undefined) return known;
    const count = Object.keys(value).length;
    this.#sizes.set(value, count);
    return count;
  }

  /** A pattern whose searches are paid for. */
  priced({ test, programSize }: Pattern): (text: string) => boolean {
    return (text) => {
      this.spend((text.length * programSize) / SEARCH_A_STEP);
      return test(text);
    };
  }

  /** Ajv's own compares each item with each other one: 20,000 objects, which a model can write, took it 8 s. */
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

  /** The keyword that `withSteps` puts into each part of a schema: one call in what ajv generates. */
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

/** No keyword that a schema could have: a key that begins so is a note to `walkUserSchema`. */
const STEP = 'x-telltale-step';

/** A copy of a schema in which each part counts itself before it judges a value. */
export function withSteps(schema: JsonObject): JsonObject {
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

/** What one judgment costs whatever the value is: lists of allowed values and required names are gone through. */
function costOf(schema: JsonObject): PartCost {
  const { enum: allowed, const: only, required, dependentRequired, patternProperties } = schema;
  let characters = 0;
  for (const data of [allowed, only, required, dependentRequired])
    if (typeof data === 'object' && data !== null) characters += JSON.stringify(data).length;
  const loops = KEY_LOOPS.filter((keyword) => Object.hasOwn(schema, keyword)).length;
  const patterns = isMap(patternProperties) ? Object.keys(patternProperties).length : 0;
  return { once: 1 + characters / DATA_A_STEP, aKey: (loops + patterns) * STEPS_A_KEY };
}

/** Keywords that go through all keys of an object. */
const KEY_LOOPS = [
  'additionalProperties',
  'unevaluatedProperties',
  'propertyNames',
  'minProperties',
  'maxProperties',
  'dependentSchemas',
];

/** Values inside one another, counted without recursion: it may be nested to any depth. */
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
