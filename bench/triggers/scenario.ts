import type { Condition } from '../../telltale/src/expressions/maps/conditions.ts';
import { parseConditions } from '../../telltale/src/expressions/maps/parse-conditions.ts';
import { createSeeded } from '../parsing/seeded.ts';

export type Values = Readonly<Record<string, string | number | boolean>>;
/** What one field of a trigger must be, as a manifest writes it. */
export type Wanted = string | boolean | readonly string[] | Readonly<Record<string, string | number>>;

export interface Scenario {
  /** Condition maps, three fields each. */
  readonly conditions: readonly Readonly<Record<string, Wanted>>[];
  readonly parsed: readonly Condition[];
  readonly first: Values;
  /** One field changes in each. */
  readonly changes: readonly { readonly name: string; readonly value: string | number | boolean }[];
}

const ENUMS = 20;
const WORDS = 10;
const NUMBERS = 8;
const FLAGS = 4;
const FIELDS_EACH = 3;

/** What agents declare: mostly words out of a few, some numbers, some yes and no. The same in every run. */
export function createScenario(triggers: number, changes: number): Scenario {
  const seeded = createSeeded(triggers);
  const word = () => `VALUE_${seeded.between(0, WORDS - 1)}`;
  const names = [
    ...Array.from({ length: ENUMS }, (_, n) => `enum_${n}`),
    ...Array.from({ length: NUMBERS }, (_, n) => `number_${n}`),
    ...Array.from({ length: FLAGS }, (_, n) => `flag_${n}`),
  ];
  const sample = (name: string) => {
    if (name.startsWith('enum')) return word();
    return name.startsWith('number') ? seeded.between(0, 99) : seeded.chance(0.5);
  };
  const wanted = (name: string): Wanted => {
    if (name.startsWith('flag')) return seeded.chance(0.5);
    if (name.startsWith('number'))
      return { [seeded.pick(['gt', 'gte', 'lt', 'lte'])]: seeded.between(0, 99) };
    if (seeded.chance(0.1)) return { not: word() };
    return seeded.chance(0.3) ? [word(), word()] : word();
  };
  const conditions = Array.from({ length: triggers }, () => {
    const map: Record<string, Wanted> = {};
    while (Object.keys(map).length < FIELDS_EACH) {
      const name = seeded.pick(names);
      map[name] ??= wanted(name);
    }
    return map;
  });
  return {
    conditions,
    parsed: conditions.map((map) => {
      const parsed = parseConditions(map);
      if (!parsed.ok) throw new Error(parsed.error[0]?.message);
      return parsed.value;
    }),
    first: Object.fromEntries(names.map((name) => [name, sample(name)])),
    changes: Array.from({ length: changes }, () => {
      const name = seeded.pick(names);
      return { name, value: sample(name) };
    }),
  };
}
