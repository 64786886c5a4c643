import { createRequire } from 'node:module';
import type { Ajv2020, Options, ValidateFunction } from 'ajv/dist/2020.js';
import { compilePattern } from '../../../conditions/linear-regex.ts';
import type { JsonObject } from '../../../kernel/json.ts';

/** In place of JavaScript's own engine, which a pattern can hang. Ajv tells patterns apart by `toString`. */
const linearRegExp = (source: string) => {
  const compiled = compilePattern(source);
  if (!compiled.ok) throw new Error(compiled.error.message);
  return { test: compiled.value.test, toString: () => source };
};

/** At the first schema, not at the start: its 85 files take 40 ms, and many manifests have none. */
const load = createRequire(import.meta.url);

/** Formats are notes only; references are followed, never inlined. */
function newAjv(options: Options): Ajv2020 {
  const { Ajv2020 } = load('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js');
  const regExp = Object.assign(linearRegExp, { code: 'linear' });
  return new Ajv2020({
    strict: false,
    validateFormats: false,
    inlineRefs: false,
    logger: false,
    code: { regExp },
    ...options,
  });
}

let meta: Ajv2020 | undefined;

/** Ajv with nothing in it but the meta-schema, whose compilation takes 25 ms: shared, since it is a constant. */
export function metaSchema(): Ajv2020 {
  meta ??= newAjv({ allErrors: true });
  return meta;
}

/** In an ajv of its own, so that nothing stays behind and a `$id` never meets another's. May throw. */
export const compile = (schema: JsonObject): ValidateFunction =>
  newAjv({ meta: false, validateSchema: false }).compile(schema);
