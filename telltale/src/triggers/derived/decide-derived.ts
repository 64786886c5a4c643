import { evaluate } from '../../expressions/cel/evaluate.ts';
import { deepEqual } from '../../expressions/values.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { SessionEvent } from '../../log/event.ts';
import { variableValues } from '../../log/fold-turns.ts';
import type { SessionState } from '../../log/state.ts';
import type {
  DerivedProgram,
  ExpressedVariable,
  FunctionCall,
  Match,
  PlacedTrigger,
  Seen,
  TriggeredVariable,
} from './compile-derived.ts';
import { ownPlace } from './compile-derived.ts';

export interface DerivedChange {
  readonly name: string;
  readonly from: Json;
  readonly to: Json;
  /** `derived:agent_text`, `derived:reset`, `derived:expression`. */
  readonly by: string;
}

/** What follows from one event. */
export interface DerivedDecision {
  readonly changes: readonly DerivedChange[];
  /** Times that begin with it. */
  readonly timers: readonly { readonly id: string; readonly delayMs: number }[];
  /** Artifacts that are to be asked because of it. */
  readonly asks: readonly { readonly where: string; readonly call: FunctionCall }[];
  /** Expressions that gave nothing, so that their defaults count: what is wrong with them. */
  readonly problems: readonly string[];
}

/**
 * What an event means for the derived variables; nothing, mostly. Pure: `state` is the session after the event. Called
 * with each event in the order of the log, it gives the same changes whenever it is called.
 */
export function decideDerived(
  program: DerivedProgram,
  event: SessionEvent,
  state: SessionState,
): DerivedDecision | undefined {
  const own = ownPlace(event);
  const looked = program.byType.get(event.type) ?? program.others;
  if (looked.length === 0 && !touchesExpressions(program, event)) return undefined;
  const changes: DerivedChange[] = [];
  const timers: { id: string; delayMs: number }[] = [];
  const asks: { where: string; call: FunctionCall }[] = [];
  const problems: string[] = [];
  const look = ({ trigger, place }: PlacedTrigger): Match => {
    if ((own !== undefined && own !== place) || (trigger.on !== 'all' && !trigger.on.has(event.type)))
      return false;
    const seen: Seen = { event, state, place };
    const delayMs = trigger.delayMs?.(seen);
    if (delayMs !== undefined) timers.push({ id: place, delayMs });
    const call = trigger.asks?.(seen);
    if (call !== undefined) asks.push({ where: place, call });
    return trigger.matches(seen);
  };
  for (const variable of looked) {
    const change = changeOf(variable, state, look);
    if (change !== undefined) changes.push(change);
  }
  // What derived variables brought about changes no expression anew: it was evaluated together with them.
  if (own === undefined || changes.length > 0) express(program, event, state, changes, problems);
  return { changes, timers, asks, problems };
}

/** The first trigger that matches sets it; where none does, what resets it counts. All are looked at: some begin times. */
function changeOf(
  { name, byDefault, triggers, resetOn }: TriggeredVariable,
  state: SessionState,
  look: (placed: PlacedTrigger) => Match,
): DerivedChange | undefined {
  const now = state.variables.get(name);
  const from = now?.value ?? null;
  const matched = triggers.map((trigger) => ({ trigger, match: look(trigger) }));
  const wholly = resetOn.map(look);
  const own = triggers.map((trigger) => ({ by: trigger.by, resets: trigger.resetOn.map(look) }));
  const set = matched.find(({ match }) => match !== false);
  if (set !== undefined) {
    const to = typeof set.match === 'object' ? set.match.value : set.trigger.set;
    return deepEqual(from, to) ? undefined : { name, from, to, by: set.trigger.by };
  }
  const isReset =
    wholly.some((match) => match !== false) ||
    own.some(({ by, resets }) => by === now?.by && resets.some((match) => match !== false));
  return isReset && !deepEqual(from, byDefault)
    ? { name, from, to: byDefault, by: 'derived:reset' }
    : undefined;
}

const touchesExpressions = ({ expressed }: DerivedProgram, { type }: SessionEvent): boolean =>
  expressed.length > 0 &&
  (type === 'metadata.changed' || type === 'variable.changed' || BEGINNINGS.has(type));

const BEGINNINGS: ReadonlySet<string> = new Set(['session.started', 'session.resumed']);

/** Evaluates what reads something that the event or `changes` changed, and adds to them. */
function express(
  { expressed }: DerivedProgram,
  event: SessionEvent,
  state: SessionState,
  changes: DerivedChange[],
  problems: string[],
): void {
  if (expressed.length === 0) return;
  const all = BEGINNINGS.has(event.type);
  const changed = new Set(changes.map(({ name }) => name));
  if (event.type === 'metadata.changed') changed.add('metadata');
  if (event.type === 'variable.changed') changed.add(event.name);
  if (!all && changed.size === 0) return;
  const vars = variableValues(state);
  for (const { name, to } of changes) vars[name] = to;
  for (const variable of expressed) {
    if (!all && !reads(variable, changed)) continue;
    const from = vars[variable.name] ?? null;
    const value = evaluate(variable.expression, { ...vars, vars, metadata: state.metadata });
    if (!value.ok)
      problems.push(`The expression of the variable "${variable.name}" gave nothing: ${value.error.message}`);
    const to = value.ok ? value.value : variable.byDefault;
    if (deepEqual(from, to)) continue;
    vars[variable.name] = to;
    changed.add(variable.name);
    changes.push({ name: variable.name, from, to, by: 'derived:expression' });
  }
}

/** What the expressions come to with these values: what a session begins with, so that its first event changes nothing. */
export function expressedValues(
  { expressed }: DerivedProgram,
  given: JsonObject,
  metadata: JsonObject,
): JsonObject {
  const vars: Record<string, Json> = { ...given };
  for (const { name, expression, byDefault } of expressed) {
    const value = evaluate(expression, { ...vars, vars, metadata });
    vars[name] = value.ok ? value.value : byDefault;
  }
  return vars;
}

/** `vars` alone, as in `vars["a" + "b"]`, may be any of them. */
const reads = ({ reads: names }: ExpressedVariable, changed: ReadonlySet<string>): boolean =>
  names.has('vars') || [...changed].some((name) => names.has(name));
