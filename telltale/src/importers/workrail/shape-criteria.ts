import { z } from 'zod';
import type { Json, JsonObject } from '../../kernel/json.ts';
import { choice } from '../../manifest/schema/choice.ts';
import { closed } from '../../manifest/schema/closed.ts';
import { isMap } from '../../manifest/schema/is-map.ts';
import { nonEmptyText, text } from '../../manifest/schema/names.ts';
import { type Condition, condition } from './shape-condition.ts';

/** What the notes of a step have to be. */
export interface Rule {
  readonly type: 'contains' | 'regex' | 'length' | 'schema';
  readonly value?: string | undefined;
  readonly pattern?: string | undefined;
  readonly flags?: string | undefined;
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  readonly schema?: JsonObject | undefined;
  readonly message?: string | undefined;
  /** A text is none that WorkRail looks at. */
  readonly condition?: Condition | string | undefined;
}

export interface Composition {
  readonly and?: readonly Criterion[] | undefined;
  readonly or?: readonly Criterion[] | undefined;
  readonly not?: Criterion | undefined;
}

/** A bare text is a regular expression. */
export type Criterion = string | Rule | Composition;
export type Criteria = readonly Criterion[] | Composition | Rule;

const words = text('A condition of the first versions.');

const rule = closed(
  { title: 'a rule' },
  {
    type: z.enum(['contains', 'regex', 'length', 'schema']),
    value: text('What must be contained.').optional(),
    pattern: text('A regular expression.').optional(),
    flags: text('Its flags.').optional(),
    min: z.number().optional(),
    max: z.number().optional(),
    schema: z
      .record(
        z.string(),
        z.custom<Json>(() => true),
      )
      .optional(),
    message: text('What is said where it fails.').optional(),
    condition: choice([words, condition], (value) =>
      typeof value === 'string' ? words : condition,
    ).optional(),
  },
);
const pattern = nonEmptyText('A regular expression.');

const nested = (): z.ZodType<Criterion> => z.lazy(() => criterion);

const composition: z.ZodType<Composition> = closed(
  { title: 'a composition of rules', exactlyOne: [['and', 'or', 'not']] },
  { and: z.array(nested()).optional(), or: z.array(nested()).optional(), not: nested().optional() },
);

const isRule = (value: unknown) => isMap(value) && value.type !== undefined;
const criterion: z.ZodType<Criterion> = choice([pattern, rule, composition], (value) => {
  if (typeof value === 'string') return pattern;
  return isRule(value) ? rule : composition;
});
const list = z.array(criterion);

export const criteria: z.ZodType<Criteria> = choice([list, rule, composition], (value) => {
  if (Array.isArray(value)) return list;
  return isRule(value) ? rule : composition;
});
