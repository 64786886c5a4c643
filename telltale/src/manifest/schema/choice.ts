import { z } from 'zod';
import { nearest } from '../../kernel/nearest.ts';
import { type Finding, finding } from './finding.ts';
import { isMap } from './is-map.ts';
import { orList, showValue } from './show-value.ts';

type Choose = (value: unknown) => z.core.$ZodType | Refusal;

/** No branch fits, and why; `path` leads from the value to what is wrong. */
interface Refusal {
  readonly refused: Finding;
  readonly path?: readonly string[];
}

interface ChoiceDef extends z.core.$ZodUnionDef {
  readonly choose: Choose;
}

/**
 * A union that picks its branch first, by what the value plainly is meant to be, and reports errors inside that
 * branch only. Zod's own union would say "invalid input" for a step with one misspelt key.
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

type Branches = Readonly<Record<string, z.core.$ZodType>>;

/** The branch is named by the value of `key` (`type: tool`); `otherwise` names it where the key is absent. */
export function choiceByValue<const B extends Branches>(
  title: string,
  key: string,
  branches: B,
  otherwise?: (map: Readonly<Record<string, unknown>>) => (keyof B & string) | undefined,
): z.ZodUnion<readonly B[keyof B][]> {
  const names = Object.keys(branches);
  const choose: Choose = (value) => {
    if (!isMap(value)) return notAMap(title, value);
    const asked = value[key] ?? otherwise?.(value);
    if (asked === undefined || asked === null)
      return lacks(title, key, value, `${key} is one of ${names.join(', ')}.`);
    const branch = typeof asked === 'string' && Object.hasOwn(branches, asked) ? branches[asked] : undefined;
    if (branch !== undefined) return branch;
    const near = typeof asked === 'string' ? nearest(asked, names) : undefined;
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

/** The branch is named by which of its keys the map has (`command:` or `http:`). */
export function choiceByKey<const B extends Branches>(
  title: string,
  branches: B,
): z.ZodUnion<readonly B[keyof B][]> {
  const names = Object.keys(branches);
  const choose: Choose = (value) => {
    if (!isMap(value)) return notAMap(title, value);
    const present = names.filter((name) => value[name] !== undefined);
    const [first, second] = present;
    if (first === undefined)
      return lacks(
        title,
        names.map((name) => `"${name}"`),
        value,
        `Give one of ${orList(names)}.`,
      );
    if (second === undefined) return branches[first] as z.core.$ZodType;
    return {
      refused: {
        code: 'exclusive',
        message: `${present.map((name) => `"${name}"`).join(' and ')} exclude each other in ${title.toLowerCase()}.`,
        hint: `Give only one of ${orList(names)}.`,
        at: 'key',
      },
      path: [second],
    };
  };
  return choice(Object.values(branches) as unknown as readonly B[keyof B][], choose);
}

const notAMap = (title: string, value: unknown): Refusal => ({
  refused: { code: 'wrong_type', message: `${title} must be a map; found ${showValue(value)}.` },
});

/** Nothing says which branch is meant; a key that nearly does is the likelier mistake. */
function lacks(
  title: string,
  keys: string | readonly string[],
  value: Readonly<Record<string, unknown>>,
  hint: string,
): Refusal {
  const wanted = typeof keys === 'string' ? [keys] : keys.map((key) => key.slice(1, -1));
  for (const written of Object.keys(value)) {
    const near = nearest(written, wanted);
    if (near === undefined || near === written) continue;
    return {
      refused: {
        code: 'unknown_key',
        message: `${title} has no key "${written}".`,
        hint: `Did you mean "${near}"? ${hint}`,
        at: 'key',
      },
      path: [written],
    };
  }
  const needed = typeof keys === 'string' ? `"${keys}"` : orList(keys);
  return { refused: { code: 'missing', message: `${title} needs ${needed}.`, hint } };
}
