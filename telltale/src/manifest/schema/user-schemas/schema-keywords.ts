/** What these hold is data or names, not schemas. */
export const DATA_KEYWORDS: ReadonlySet<string> = new Set(
  'const default enum examples required dependentRequired type'.split(' '),
);

/** What these hold are schemas under names of the user's. */
export const NAMING_KEYWORDS: ReadonlySet<string> = new Set(
  'properties patternProperties $defs definitions dependentSchemas'.split(' '),
);

/** What these hold judges the same value again, not a part of it. */
export const IN_PLACE_KEYWORDS: ReadonlySet<string> = new Set(
  'allOf anyOf oneOf not if then else'.split(' '),
);

/** What these hold is judged one after the other, each only where those before it were satisfied. */
export const ROW_KEYWORDS: ReadonlySet<string> = new Set(
  'properties patternProperties dependentSchemas dependentRequired allOf oneOf prefixItems'.split(' '),
);

/** What these hold is judged only where a reference leads to it. */
export const SEPARATE_KEYWORDS: ReadonlySet<string> = new Set('$defs definitions'.split(' '));

/** The keywords of draft 2020-12 that are understood. */
export const KEYWORDS: readonly string[] = [
  '$schema $id $ref $defs $anchor $comment definitions type enum const properties required additionalProperties',
  'patternProperties propertyNames minProperties maxProperties dependentRequired dependentSchemas',
  'unevaluatedProperties items prefixItems contains minContains maxContains minItems maxItems uniqueItems',
  'unevaluatedItems minLength maxLength pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf',
  'allOf anyOf oneOf not if then else title description default examples deprecated readOnly writeOnly',
  'contentEncoding contentMediaType contentSchema',
].flatMap((line) => line.split(' '));
