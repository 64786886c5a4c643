import { type Expression, parseExpression } from '../../conditions/cel/parse-expression.ts';
import type { EventType } from '../../events/event.ts';
import type { Json } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { AnyTrigger, DerivedVariable } from './given-trigger.ts';
import { placeOf } from './own-place.ts';
import type { BoundTrigger } from './trigger-type.ts';

/** Makes a trigger of a manifest ready: by the table of types, which the session holds. */
export type BindTrigger = (trigger: AnyTrigger) => BoundTrigger;

export interface PlacedTrigger {
  readonly place: string;
  readonly trigger: BoundTrigger;
}

export interface TriggeredVariable {
  readonly name: string;
  readonly byDefault: Json;
  readonly triggers: readonly (PlacedTrigger & {
    readonly set: Json;
    /** Who the change is by: `derived:agent_text`, with `#n` behind it from the second trigger on. */
    readonly by: string;
    readonly resetOn: readonly PlacedTrigger[];
  })[];
  readonly resetOn: readonly PlacedTrigger[];
}

export interface ExpressedVariable {
  readonly name: string;
  readonly byDefault: Json;
  readonly expression: Expression;
  /** The names it reads: variables, and `metadata`. */
  readonly reads: ReadonlySet<string>;
}

/** The derived variables of an agent, made ready once for all its sessions. */
export interface DerivedProgram {
  readonly triggered: readonly TriggeredVariable[];
  /** Those that an event of the type may change or begin something for; `others` for types that none names. */
  readonly byType: ReadonlyMap<EventType, readonly TriggeredVariable[]>;
  readonly others: readonly TriggeredVariable[];
  /** Each behind those that it reads. */
  readonly expressed: readonly ExpressedVariable[];
}

export function compileDerived(variables: readonly DerivedVariable[], bind: BindTrigger): DerivedProgram {
  const triggered = variables.flatMap((variable) =>
    variable.expression === undefined ? [toTriggered(variable, bind)] : [],
  );
  const types = new Set(triggered.flatMap((variable) => [...typesOf(variable)]));
  const others = triggered.filter((variable) => allOf(variable).some(({ trigger }) => trigger.on === 'all'));
  const byType = new Map(
    [...types].map((type) => [
      type,
      triggered.filter((each) => others.includes(each) || typesOf(each).has(type)),
    ]),
  );
  return { triggered, byType, others, expressed: inOrder(variables.flatMap(toExpressed)) };
}

function toTriggered(variable: DerivedVariable, bind: BindTrigger): TriggeredVariable {
  const { name, triggers = [], reset_on = [], default: byDefault = null } = variable;
  const placed = (trigger: AnyTrigger, path: string): PlacedTrigger => ({
    place: placeOf(name, path),
    trigger: bind(trigger),
  });
  return {
    name,
    byDefault: byDefault as Json,
    triggers: triggers.map((trigger, at) => ({
      ...placed(trigger, `triggers[${at}]`),
      set: trigger.set as Json,
      by: `derived:${trigger.type}${at === 0 ? '' : `#${at}`}`,
      resetOn: trigger.reset_on.map((reset, n) => placed(reset, `triggers[${at}].reset_on[${n}]`)),
    })),
    resetOn: reset_on.map((reset, n) => placed(reset, `reset_on[${n}]`)),
  };
}

const allOf = ({ triggers, resetOn }: TriggeredVariable): readonly PlacedTrigger[] => [
  ...triggers,
  ...triggers.flatMap((each) => each.resetOn),
  ...resetOn,
];

const typesOf = (variable: TriggeredVariable): ReadonlySet<EventType> =>
  new Set(allOf(variable).flatMap(({ trigger: { on } }) => (on === 'all' ? [] : [...on])));

function toExpressed({
  name,
  expression: source,
  default: byDefault = null,
}: DerivedVariable): readonly ExpressedVariable[] {
  if (source === undefined) return [];
  const parsed = parseExpression(source);
  if (!parsed.ok) throw badExpression(name, parsed.error.message);
  const expression = parsed.value;
  const reads = expression.names.flatMap(({ root, path: [member] }) =>
    root === 'vars' && typeof member === 'string' ? [member] : [root],
  );
  return [{ name, byDefault: byDefault as Json, expression, reads: new Set(reads) }];
}

/** Each behind those it reads. Validation has refused cycles; one that is there all the same must not hang. */
function inOrder(variables: readonly ExpressedVariable[]): readonly ExpressedVariable[] {
  const left = new Map(variables.map((each) => [each.name, each]));
  const ordered: ExpressedVariable[] = [];
  while (left.size > 0) {
    const ready = [...left.values()].filter(({ reads }) => ![...reads].some((name) => left.has(name)));
    if (ready.length === 0) throw cycle([...left.keys()]);
    for (const each of ready) {
      ordered.push(each);
      left.delete(each.name);
    }
  }
  return ordered;
}

const badExpression = (name: string, why: string) =>
  new RuntimeError('bad_expression', `The expression of the variable "${name}" cannot be read: ${why}`, {
    hint: 'Check the manifest: telltale validate',
  });

const cycle = (names: readonly string[]) =>
  new RuntimeError(
    'bad_expression',
    `These derived variables define each other in a cycle: ${names.join(', ')}.`,
    {
      hint: 'Break the cycle: use triggers for one of them.',
    },
  );
