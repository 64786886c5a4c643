import type { InvokeRecord } from '../../lib/calls.ts';
import type { Clock } from '../../lib/clock.ts';
import { RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import type { Cause, SessionEvent } from '../../log/event.ts';
import type { Timer } from '../../log/state.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import type { DecisionContext } from '../../tools/artifacts/artifacts.ts';
import type { Invoke } from '../../tools/artifacts/create-invoke.ts';
import { compileCheck } from '../../tools/check-parameters.ts';
import { bindBuiltIn } from '../../triggers/derived/built-in-types.ts';
import {
  type BindTrigger,
  bindTrigger,
  compileDerived,
  type DerivedProgram,
  type DerivedTriggerType,
  type FunctionCall,
  isPlace,
} from '../../triggers/derived/compile-derived.ts';
import { decideDerived, expressedValues } from '../../triggers/derived/decide-derived.ts';
import type { SessionLog } from '../session-log.ts';

/**
 * A custom type of trigger. Manifests refer to it by the name it is registered under, which contains a colon:
 * `type: "acme:tone"`.
 */
export interface RegisteredTriggerType<Parsed = unknown> extends DerivedTriggerType<JsonObject, Parsed> {
  /** JSON Schema of its keys, apart from `type`, `set` and `reset_on`. */
  readonly schema: JsonObject;
}

// biome-ignore lint/suspicious/noExplicitAny: each entry has its own `Parsed`, which only its own functions see.
export type DerivedTriggers = Readonly<Record<string, RegisteredTriggerType<any>>>;

/** The derived variables of an agent, compiled once. */
export interface DerivedVariables {
  /** The initial values of all variables, with expressions evaluated. */
  initial(vars: JsonObject, metadata: JsonObject): JsonObject;
  react(deps: Omit<VariableReactionDeps, 'program'>): VariableReactions;
}

export function prepareDerived(manifest: AgentManifest, registered: DerivedTriggers): DerivedVariables {
  const program = programOf(manifest, registered);
  return {
    initial: (vars, metadata) => expressedValues(program, vars, metadata),
    react: (deps) => createVariableReactions({ ...deps, program }),
  };
}

function programOf(
  { name, context_variables: { derived } }: AgentManifest,
  registered: DerivedTriggers,
): DerivedProgram {
  const bind: BindTrigger = (trigger) => {
    const builtIn = bindBuiltIn(trigger);
    if (builtIn !== undefined) return builtIn;
    const type = Object.hasOwn(registered, trigger.type) ? registered[trigger.type] : undefined;
    if (type === undefined) throw typeUnknown(name, trigger.type, Object.keys(registered));
    const { type: _, set, reset_on, ...given } = trigger as JsonObject;
    const wrong = compileCheck(type.schema, `a trigger of type "${trigger.type}"`)(given);
    if (wrong !== undefined) throw wrong;
    return bindTrigger(trigger.type, type, given);
  };
  return compileDerived(derived, bind);
}

const typeUnknown = (agent: string, type: string, known: readonly string[]) =>
  new RuntimeError(
    'trigger_type_unknown',
    `A derived variable of the agent "${agent}" has a trigger of type "${type}", which nobody registered.`,
    {
      hint: `Register it: createRuntime({ derivedTriggers: { "${type}": { schema, description, parse, matches } } }).${known.length === 0 ? '' : ` ${suggest(type, known, 'Registered')}`}`,
    },
  );

export interface VariableReactionDeps {
  readonly program: DerivedProgram;
  readonly log: SessionLog;
  readonly clock: Clock;
  /** Asks artifacts for the session. Without it, `function` triggers use their fallbacks. */
  readonly artifacts?: { readonly invoke: Invoke; readonly context: () => DecisionContext } | undefined;
}

/** Keeps the derived variables of a session up to date with its log. */
export interface VariableReactions {
  /** Restores the timers of a resumed session. Overdue timers fire now. */
  restore(): void;
  /** Resolves when no artifact is being asked. */
  settled(): Promise<void>;
  /** Stops all timers and questions. */
  close(): void;
}

/** Create it before the session's first event is appended, so that it sees all events. */
function createVariableReactions({
  program,
  log,
  clock,
  artifacts,
}: VariableReactionDeps): VariableReactions {
  const { state } = log;
  const armed = new Map<string, () => void>();
  /** The open question of each trigger. If several events ask the same question, the last one counts. */
  const wanted = new Map<string, { readonly call: FunctionCall; readonly cause: Cause }>();
  const noted = new Set<string>();
  const ending = new AbortController();
  let asking: Promise<void> | undefined;

  const fire = ({ id, due, cause }: Timer) => {
    armed.delete(id);
    const isOpen = state.timers.some((timer) => timer.id === id && timer.due === due);
    if (isOpen && !ending.signal.aborted) log.append({ type: 'timer.fired', id }, cause);
  };

  const arm = (timer: Timer) => {
    armed.get(timer.id)?.();
    armed.set(
      timer.id,
      clock.after(Math.max(0, timer.due - clock.now()), () => fire(timer)),
    );
  };

  const ask = async (where: string, call: FunctionCall): Promise<InvokeRecord> => {
    const { artifact, method, fallback } = call;
    if (artifacts === undefined) return unavailable(where, call);
    return artifacts.invoke({
      where,
      invocation: { invoke: artifact, method, args: [], cache: true, fallback },
      expected: { type: 'any' },
      context: artifacts.context(),
      signal: ending.signal,
    });
  };

  const note = (what: string, cause: Cause) => {
    if (noted.has(what)) return;
    noted.add(what);
    log.append({ type: 'audit', who: 'runtime', what }, cause);
  };

  const askAll = async () => {
    for (let next = wanted.entries().next(); !next.done; next = wanted.entries().next()) {
      const [where, { call, cause }] = next.value;
      wanted.delete(where);
      try {
        const record = await ask(where, call);
        if (ending.signal.aborted) return;
        const at = log.append({ type: 'invoke', ...record }, cause);
        const { cost } = record;
        if (cost > 0 && state.balance !== undefined)
          log.append(
            { type: 'budget.charged', what: 'artifact', amount: cost, balance: state.balance - cost },
            at,
          );
      } catch (thrown) {
        if (ending.signal.aborted) return;
        const { code, message } = toRuntimeError(thrown);
        note(`${where} could not be asked (${code}): ${message}`, cause);
      }
    }
  };

  const react = (event: SessionEvent) => {
    const decision = decideDerived(program, event, state);
    if (decision === undefined) return;
    const cause: Cause = { stream: event.session, seq: event.seq, depth: event.cause.depth + 1 };
    for (const change of decision.changes)
      log.append({ type: 'variable.changed', class: 'derived', ...change }, cause);
    for (const { id, delayMs } of decision.timers) {
      const due = event.at + delayMs;
      arm({ id, due, cause: log.append({ type: 'timer.set', id, due }, cause) });
    }
    for (const what of decision.problems) note(what, cause);
    if (decision.asks.length === 0 || ending.signal.aborted) return;
    for (const { where, call } of decision.asks) {
      wanted.delete(where);
      wanted.set(where, { call, cause });
    }
    // Later, so that the current event is fully folded first. Only one round of questions runs at a time.
    asking ??= Promise.resolve()
      .then(askAll)
      .finally(() => {
        asking = undefined;
      });
  };

  log.react(react);
  return {
    restore() {
      for (const timer of state.timers) if (isPlace(timer.id)) arm(timer);
    },
    async settled() {
      while (asking !== undefined) await asking;
    },
    close() {
      ending.abort();
      for (const disarm of armed.values()) disarm();
      armed.clear();
      wanted.clear();
    },
  };
}

const unavailable = (where: string, { artifact, method, fallback }: FunctionCall): InvokeRecord => ({
  where,
  artifact,
  method,
  args: [],
  result: fallback,
  fallback: { reason: 'unavailable', message: 'No artifacts can be asked here.' },
  cached: false,
  ms: 0,
  cost: 0,
});
