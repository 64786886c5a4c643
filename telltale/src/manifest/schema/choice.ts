import { z } from 'zod';
import { likeliest, nearest } from '../../lib/nearest.ts';
import { placeOf } from './closed.ts';
import { isMap } from './plain-values.ts';
import { orList, showValue } from './show-value.ts';
import { unknownKey } from './translate-issue.ts';
import { finding, type ValuesFinding } from './values.ts';

const REFERENCE = /^\$\{[\s\S]+\}$/;

/** Whether a text is exactly one `${…}`. It then stands for a value of any type, which is known when the step runs. */
const isReference = (value: unknown): value is string => typeof value === 'string' && REFERENCE.test(value);

const reference = (description: string) =>
  z.string().regex(REFERENCE).meta({ description, expects: `one reference, like \${steps.NAME.output}` });

/** A value, or a single reference to one. */
export function orReference<S extends z.core.$ZodType>(description: string, schema: S) {
  const referred = reference(description);
  return choice([schema, referred], (value) => (isReference(value) ? referred : schema)).describe(
    description,
  );
}

type Choose = (value: unknown) => z.core.$ZodType | ChoiceRefusal;

/** No branch fits. `path` leads from the value to the problem. */
interface ChoiceRefusal {
  readonly refused: ValuesFinding;
  readonly path?: readonly string[];
}

interface ChoiceDef extends z.core.$ZodUnionDef {
  readonly choose: Choose;
}

/**
 * A union that first picks the branch that the value is evidently meant to be, and reports errors only inside that
 * branch. Zod's own union would say "invalid input" for a step with one misspelled key.
 */
const ChoiceUnion = z.core.$constructor<z.ZodUnion>('ChoiceUnion', (inst, def) => {
  z.ZodUnion.init(inst, def);
  const { choose } = def as unknown as ChoiceDef;
  inst._zod.parse = (payload, ctx) => {
    const chosen = choose(payload.value);
    if (!('refused' in chosen)) return chosen._zod.run(payload, ctx);
    if (payload.value === undefined)
      payload.issues.push({ code: 'invalid_type', expected: 'nonoptional', input: undefined, inst });
    else payload.issues.push(finding(payload.value, chosen.refused, chosen.path));
    return payload;
  };
});

export function choice<const Options extends readonly z.core.$ZodType[]>(
  options: Options,
  choose: Choose,
): z.ZodUnion<Options> {
  const def = { type: 'union', options, inclusive: true, choose };
  return new (ChoiceUnion as unknown as new (def: unknown) => z.ZodUnion<Options>)(def);
}

type ChoiceBranches = Readonly<Record<string, z.core.$ZodType>>;

/** The value of `key` selects the branch (`type: tool`). If it is missing, the presence of another key does. */
export function choiceByValue<const B extends ChoiceBranches>(
  title: string,
  key: string,
  branches: B,
  implied?: { readonly by: string; readonly branch: keyof B & string },
  /** The branch for values that match `fits` but are no branch's name. */
  open?: { readonly fits: RegExp; readonly branch: keyof B & string },
): z.ZodUnion<readonly B[keyof B][]> {
  const names = Object.keys(branches).filter((name) => name !== open?.branch);
  const choose: Choose = (value) => {
    if (!isMap(value))
      return notAMap(
        title,
        value,
        typeof value === 'string' && names.includes(value) ? `Write { ${key}: ${value} }.` : undefined,
      );
    const asked =
      value[key] ?? (implied !== undefined && value[implied.by] !== undefined ? implied.branch : undefined);
    if (asked === undefined || asked === null)
      return lacks(
        title,
        [key],
        value,
        writtenAsKey(key, value, branches) ?? `${key} is one of ${names.join(', ')}.`,
        implied === undefined ? [] : [implied.by],
      );
    const branch =
      typeof asked !== 'string'
        ? undefined
        : names.includes(asked)
          ? branches[asked]
          : open?.fits.test(asked) === true
            ? branches[open.branch]
            : undefined;
    if (branch !== undefined) return branch;
    const near = typeof asked === 'string' ? likeliest(asked, names) : undefined;
    return {
      refused: {
        code: typeof asked === 'string' ? 'not_allowed' : 'wrong_type',
        message: `${title} cannot have "${key}" ${showValue(asked)}.`,
        hint: `${near === undefined ? '' : `Did you mean "${near}"? `}Allowed: ${names.join(', ')}.`,
      },
      path: [key],
    };
  };
  return choice(Object.values(branches) as unknown as readonly B[keyof B][], choose);
}

/** For `tool: git` instead of `type: tool`. */
function writtenAsKey(
  key: string,
  value: Readonly<Record<string, unknown>>,
  branches: ChoiceBranches,
): string | undefined {
  const named = Object.keys(branches).find((name) => Object.hasOwn(value, name));
  if (named === undefined) return undefined;
  return placeOf(branches[named])?.slips?.[named] ?? `Write "${key}: ${named}".`;
}

/** The key that the map has selects the branch (`command:` or `http:`). */
export function choiceByKey<const B extends ChoiceBranches>(
  title: string,
  branches: B,
): z.ZodUnion<readonly B[keyof B][]> {
  const names = Object.keys(branches);
  const choose: Choose = (value) => {
    if (!isMap(value)) return notAMap(title, value, `Write one of ${orList(names)}.`);
    const present = names.filter((name) => value[name] !== undefined);
    const [first, second] = present;
    if (first === undefined) return lacks(title, names, value, `Write one of ${orList(names)}.`);
    if (second === undefined) return branches[first] as z.core.$ZodType;
    return {
      refused: {
        code: 'exclusive',
        message: `${present.map((name) => `"${name}"`).join(' and ')} cannot be used together in ${title.toLowerCase()}.`,
        hint: `Use only one of ${orList(names)}.`,
        at: 'key',
      },
      path: [second],
    };
  };
  return choice(Object.values(branches) as unknown as readonly B[keyof B][], choose);
}

const notAMap = (title: string, value: unknown, hint?: string): ChoiceRefusal => ({
  refused: { code: 'wrong_type', message: `${title} has to be a map, but is ${showValue(value)}.`, hint },
});

/** Nothing says which branch is meant. A similar key is the more likely mistake. */
function lacks(
  title: string,
  keys: readonly string[],
  value: Readonly<Record<string, unknown>>,
  hint: string,
  alsoMeant: readonly string[] = [],
): ChoiceRefusal {
  for (const written of Object.keys(value)) {
    const near = nearest(written, [...keys, ...alsoMeant]);
    if (near === undefined || near === written) continue;
    return {
      refused: {
        code: 'unknown_key',
        message: unknownKey(written, title),
        hint: `Did you mean "${near}"? ${hint}`,
        at: 'key',
      },
      path: [written],
    };
  }
  return {
    refused: { code: 'missing', message: `${title} needs ${orList(keys.map((key) => `"${key}"`))}.`, hint },
  };
}
