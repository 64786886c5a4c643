import { type Expression, parseExpression } from '../../expressions/cel/parse-expression.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';
import type { EventType, SessionEvent } from '../../log/event.ts';
import type { SessionState } from '../../log/state.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';

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

/** A derived variable as a manifest has it. */
export type DerivedVariable = AgentManifest['context_variables']['derived'][number];

export type DerivedTrigger = NonNullable<DerivedVariable['triggers']>[number];

export type BuiltInType = BuiltIn['type'];

type BuiltIn = Exclude<DerivedTrigger, { readonly type: `${string}:${string}` }>;

/** The keys of one type of trigger, as the manifest's schema gives them. */
export type GivenTrigger<Type extends string> = Omit<
  Extract<DerivedTrigger, { readonly type: Type }>,
  'set' | 'reset_on'
>;

/** What sets a variable or resets it. */
export type AnyTrigger = DerivedTrigger | NonNullable<DerivedVariable['reset_on']>[number];

const PREFIX = 'variable ';

/** Where a trigger of a derived variable stands: `variable done: triggers[0].reset_on[1]`. */
const placeOf = (variable: string, path: string): string => `${PREFIX}${variable}: ${path}`;

export const isPlace = (id: string): boolean => id.startsWith(PREFIX);

/**
 * Whether derived variables themselves brought this event about. No trigger looks at such an event, but the one whose
 * timer or answer it is: so nothing can go round in circles, and variables follow from each other by `expression` only.
 */
export function ownPlace(event: SessionEvent): string | undefined {
  if (event.type === 'variable.changed') return event.class === 'derived' ? PREFIX : undefined;
  if (event.type === 'timer.set') return isPlace(event.id) ? PREFIX : undefined;
  const id = event.type === 'timer.fired' ? event.id : event.type === 'invoke' ? event.where : undefined;
  return id !== undefined && isPlace(id) ? id : undefined;
}

/** What a trigger looks at. Nothing else may decide, so that the same log always gives the same values. */
export interface Seen {
  readonly event: SessionEvent;
  /** The session after it; not to be changed. */
  readonly state: SessionState;
  /** The trigger's own place, `variable NAME: triggers[0]`: what it brings onto the log has it for an id. */
  readonly place: string;
}

/** Whether a trigger matches; with `value` it says itself what the variable takes, in place of `set`. */
export type Match = boolean | { readonly value: Json };

/** An artifact's method that a trigger asks. What it answers comes back as an `invoke` whose `where` is the place. */
export interface FunctionCall {
  readonly artifact: string;
  readonly method: string;
  readonly fallback: Json;
}

/**
 * A type of trigger that sets derived variables. `parse` is called once for each trigger of an agent, with its keys as
 * the manifest's schema gives them; the others with each event, and must be pure.
 */
export interface DerivedTriggerType<Given, Parsed> {
  readonly description: string;
  parse(given: Given): Parsed;
  /** The events it can match or begin with; all of them if absent. */
  on?(parsed: Parsed): readonly EventType[];
  matches(parsed: Parsed, seen: Seen): Match;
  /** Where the event begins a time that the trigger waits for: how long. Then `timer.fired` has the place for an id. */
  delayMs?(parsed: Parsed, seen: Seen): number | undefined;
  /** Where an artifact is to be asked. */
  asks?(parsed: Parsed, seen: Seen): FunctionCall | undefined;
}

/** A trigger of a manifest, ready to look at events. */
export interface BoundTrigger {
  readonly type: string;
  readonly on: ReadonlySet<EventType> | 'all';
  matches(seen: Seen): Match;
  readonly delayMs?: (seen: Seen) => number | undefined;
  readonly asks?: (seen: Seen) => FunctionCall | undefined;
}

export function bindTrigger<Given, Parsed>(
  name: string,
  type: DerivedTriggerType<Given, Parsed>,
  given: Given,
): BoundTrigger {
  const parsed = type.parse(given);
  const on = type.on?.(parsed);
  const { delayMs, asks } = type;
  return {
    type: name,
    on: on === undefined ? 'all' : new Set(on),
    matches: (seen) => type.matches(parsed, seen),
    ...(delayMs === undefined ? {} : { delayMs: (seen) => delayMs(parsed, seen) }),
    ...(asks === undefined ? {} : { asks: (seen) => asks(parsed, seen) }),
  };
}
