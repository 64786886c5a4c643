import type { JsonObject } from '../../kernel/json.ts';
import { suggest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import { compileCheck } from '../../targets/check-parameters.ts';
import { bindBuiltIn } from '../../triggers/derived/built-in-types.ts';
import {
  type BindTrigger,
  compileDerived,
  type DerivedProgram,
} from '../../triggers/derived/compile-derived.ts';
import { expressedValues } from '../../triggers/derived/decide-derived.ts';
import { bindTrigger, type DerivedTriggerType } from '../../triggers/derived/trigger-type.ts';
import {
  createVariableReactions,
  type VariableReactionDeps,
  type VariableReactions,
} from './variable-reactions.ts';

/**
 * A type of trigger of one's own. Manifests name it by what it is registered as, which has a colon in it:
 * `type: "acme:tone"`.
 */
export interface RegisteredTriggerType<Parsed = unknown> extends DerivedTriggerType<JsonObject, Parsed> {
  /** JSON Schema of its keys beside `type`, `set` and `reset_on`. */
  readonly schema: JsonObject;
}

// biome-ignore lint/suspicious/noExplicitAny: each entry has its own `Parsed`, which only its own functions see.
export type DerivedTriggers = Readonly<Record<string, RegisteredTriggerType<any>>>;

/** An agent's derived variables, made ready once. What runs them is loaded with them, by agents that have any. */
export interface DerivedVariables {
  /** All variables as a session begins with them, the expressions worked out. */
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
