import { z } from 'zod';
import { isMap } from './plain-values.ts';
import { orList } from './show-value.ts';
import { finding } from './values.ts';

/** Keys that people often put in the wrong place, each with the right place. */
export type Slips = Readonly<Record<string, string>>;

export interface ClosedPlace {
  /** The name of this map in messages, with its article: "a step", "an Agent". */
  readonly title: string;
  readonly description?: string;
  /** The name of its JSON Schema in `$defs`. */
  readonly id?: string;
  readonly slips?: Slips;
  /** Exactly one key of each group must be given. */
  readonly exactlyOne?: readonly (readonly string[])[];
  readonly atMostOne?: readonly (readonly string[])[];
  readonly atLeastOne?: readonly (readonly string[])[];
  /** Further keywords for its JSON Schema, for rules that span the map. */
  readonly keywords?: Readonly<Record<string, unknown>>;
  /** A key that requires other keys. */
  readonly demands?: Readonly<Record<string, readonly string[]>>;
}

interface ClosedDef extends z.core.$ZodObjectDef {
  readonly place: ClosedPlace;
}

export type Closed<Shape extends z.core.$ZodShape> = z.ZodObject<Shape, z.core.$strict>;

/** Zod's strict object plus the groups of keys, which are checked even if another key is wrong. */
const ClosedObject = z.core.$constructor<z.ZodObject>('ClosedObject', (inst, def) => {
  z.ZodObject.init(inst, def);
  const { place } = def as ClosedDef;
  const parse = inst._zod.parse;
  inst._zod.parse = (payload, ctx) => {
    const input = payload.value;
    const result = parse(payload, ctx);
    if (!isMap(input) || result instanceof Promise) return result;
    for (const [index, issue] of result.issues.entries()) {
      const key = issue.path?.length === 1 ? issue.path[0] : undefined;
      if (issue.input === undefined && typeof key === 'string' && !Object.hasOwn(input, key))
        result.issues[index] = lacksKey(input, key, place, def.shape[key]);
    }
    for (const issue of groupFindings(input, place)) result.issues.push(issue);
    return result;
  };
});

/** A map of the manifest language. Unknown keys are errors, and some keys exclude or require each other. */
export function closed<Shape extends z.core.$ZodLooseShape>(place: ClosedPlace, shape: Shape): Closed<Shape> {
  const schema = new (ClosedObject as unknown as new (def: ClosedDef) => Closed<Shape>)({
    type: 'object',
    shape,
    catchall: z.never(),
    place,
  });
  // Registers the schema itself. `.meta` would create every schema twice.
  return schema.register(z.globalRegistry, placeMeta(place));
}

/** The options of an object schema that `closed` created. */
export const placeOf = (schema: unknown): ClosedPlace | undefined =>
  (schema as { readonly _zod?: { readonly def?: Partial<ClosedDef> } } | undefined)?._zod?.def?.place;

function lacksKey(input: unknown, key: string, place: ClosedPlace, schema: unknown): z.core.$ZodRawIssue {
  const { description } = schema as { readonly description?: string };
  return finding(input, {
    code: 'missing',
    message: `${capital(place.title)} needs "${key}".`,
    hint: description,
  });
}

function groupFindings(input: Readonly<Record<string, unknown>>, place: ClosedPlace): z.core.$ZodRawIssue[] {
  const issues: z.core.$ZodRawIssue[] = [];
  const given = (keys: readonly string[]) => keys.filter((key) => input[key] !== undefined);
  const tooMany = (keys: readonly string[]) => {
    const second = given(keys)[1];
    if (second === undefined) return;
    const message = `${given(keys).map(quote).join(' and ')} cannot be used together in ${place.title}.`;
    issues.push(
      finding(input, { code: 'exclusive', message, hint: `Use only one of ${orList(keys)}.`, at: 'key' }, [
        second,
      ]),
    );
  };
  const tooFew = (keys: readonly string[]) => {
    if (given(keys).length > 0) return;
    const message = `${capital(place.title)} needs ${orList(keys.map(quote))}.`;
    issues.push(finding(input, { code: 'missing', message }));
  };
  for (const keys of place.exactlyOne ?? []) {
    tooFew(keys);
    tooMany(keys);
  }
  for (const keys of place.atMostOne ?? []) tooMany(keys);
  for (const keys of place.atLeastOne ?? []) tooFew(keys);
  for (const [key, demanded] of Object.entries(place.demands ?? {}))
    for (const other of input[key] === undefined ? [] : demanded)
      if (input[other] === undefined)
        issues.push(
          finding(input, { code: 'missing', message: `"${key}" also needs "${other}".`, at: 'key' }, [key]),
        );
  return issues;
}

/** The groups in terms of JSON Schema, for editors. */
function placeMeta(place: ClosedPlace): Record<string, unknown> {
  const required = (key: string) => ({ required: [key] });
  const allOf = [
    ...(place.exactlyOne ?? []).map((keys) => ({ oneOf: keys.map(required) })),
    ...(place.atLeastOne ?? []).map((keys) => ({ anyOf: keys.map(required) })),
    ...(place.atMostOne ?? []).map((keys) => ({
      not: { anyOf: pairs(keys).map((pair) => ({ required: pair })) },
    })),
  ];
  return {
    ...(place.id === undefined ? {} : { id: place.id }),
    ...(place.description === undefined ? {} : { description: place.description }),
    ...(allOf.length === 0 ? {} : { allOf }),
    ...place.keywords,
    ...(place.demands === undefined ? {} : { dependentRequired: place.demands }),
  };
}

const pairs = (keys: readonly string[]) => keys.flatMap((a, i) => keys.slice(i + 1).map((b) => [a, b]));
const quote = (key: string) => `"${key}"`;
const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
