import { z } from 'zod';
import type { Json } from '../../kernel/json.ts';
import { choice } from '../../manifest/schema/choice.ts';
import { closed } from '../../manifest/schema/closed.ts';
import { isMap } from '../../manifest/schema/is-map.ts';
import { nonEmptyText, text } from '../../manifest/schema/names.ts';
import { flag } from '../../manifest/schema/numbers.ts';

/** A test on context variables. WorkRail looks at the first of its operators, in this order, and at no other. */
export interface Condition {
  readonly var?: string | undefined;
  readonly equals?: Json | undefined;
  readonly not_equals?: Json | undefined;
  readonly gt?: number | undefined;
  readonly gte?: number | undefined;
  readonly lt?: number | undefined;
  readonly lte?: number | undefined;
  readonly contains?: string | undefined;
  readonly startsWith?: string | undefined;
  readonly endsWith?: string | undefined;
  readonly matches?: string | undefined;
  readonly in?: readonly Json[] | undefined;
  readonly and?: readonly Condition[] | undefined;
  readonly or?: readonly Condition[] | undefined;
  readonly not?: Condition | undefined;
}

export const OPERATORS = [
  'equals',
  'not_equals',
  'gt',
  'gte',
  'lt',
  'lte',
  'contains',
  'startsWith',
  'endsWith',
  'matches',
  'in',
] as const;

const any = () => z.custom<Json>(() => true);
const number = () => z.number().optional();
const nested = () => z.lazy(() => condition);

export const condition: z.ZodType<Condition> = closed(
  { title: 'a condition' },
  {
    var: nonEmptyText('The name of a context variable.').optional(),
    equals: any().optional(),
    not_equals: any().optional(),
    gt: number(),
    gte: number(),
    lt: number(),
    lte: number(),
    contains: text('A part of its text.').optional(),
    startsWith: text('How its text begins.').optional(),
    endsWith: text('How its text ends.').optional(),
    matches: text('A regular expression.').optional(),
    in: z.array(any()).optional(),
    and: z.array(nested()).optional(),
    or: z.array(nested()).optional(),
    not: nested().optional(),
  },
);

const gate = closed(
  { title: 'a confirmation' },
  { kind: z.enum(['coordinator_eval', 'human_approval']), condition: condition.optional() },
);

const always = flag('Whether somebody is asked.');

/** `requireConfirmation`: yes or no, a condition, or who is asked. */
export const confirmation = choice([always, gate, condition], (value) => {
  if (!isMap(value)) return always;
  return value.kind === undefined ? condition : gate;
});
