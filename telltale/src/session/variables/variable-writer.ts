import { deepEqual } from '../../conditions/deep-equal.ts';
import type { Cause } from '../../events/event.ts';
import type { Json } from '../../kernel/json.ts';
import { suggest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import type { Beside } from '../../store/stream-batches.ts';
import type { TriggerSide } from '../../triggers/compile-triggers.ts';
import { hearsUpdate } from '../../triggers/hears-update.ts';
import type { SessionLog } from '../session-log.ts';
import {
  type SettableVariable,
  settableVariables,
  type VariableWriter,
  valueProblem,
} from './declared-variables.ts';
import type { VariableKeeper } from './variable-keeper.ts';

export interface WriteOptions {
  /** Who it is by on the log, where that is not the writer's own name: `workflow:NAME`, `child:NAME`. */
  readonly as?: string;
  readonly run?: string;
  /** The value is the variable's default, whatever its type. */
  readonly resets?: true;
  readonly cause?: Cause;
  /** What else is written in the same transaction. */
  readonly beside?: Beside;
}

export interface Written {
  readonly name: string;
  readonly from: Json;
  readonly to: Json;
  /** Where the event stands; absent where nothing was written: the value was the same, and nobody has to hear of it. */
  readonly at?: Cause;
}

/**
 * The one way in which a variable is set by hand. Checks that there is one, that the writer may, and that the value is
 * of its type; throws what is wrong. A defined variable goes to its table in the transaction of the event.
 */
export type SetVariable = (name: string, value: Json, by: VariableWriter, options?: WriteOptions) => Written;

/** Where variables are set. */
export interface SettableIn {
  readonly manifest: AgentManifest;
  readonly log: SessionLog;
  readonly keeper: VariableKeeper | undefined;
  /** Those on variables. */
  readonly triggers: TriggerSide | undefined;
}

export function setVariable(
  { manifest, log, keeper, triggers }: SettableIn,
  name: string,
  value: Json,
  by: VariableWriter,
  { as = by, run, resets, cause, beside }: WriteOptions = {},
): Written {
  const variable = settableBy(manifest, name, by);
  const wrong = resets === true ? undefined : valueProblem(variable, value);
  if (wrong !== undefined) throw wrong;
  const from = log.state.variables.get(name)?.value ?? null;
  const isNews = isShared(variable) || hearsUpdate(triggers, log.state.variableUpdates);
  if (!isNews && deepEqual(from, value)) return { name, from, to: value };
  const kept = variable.class === 'defined' ? keeper?.writes(variable, value) : undefined;
  const writes = [...(beside?.writes ?? []), ...(kept ?? [])];
  const at = log.append(
    {
      type: 'variable.changed',
      name,
      class: variable.class,
      from,
      to: value,
      by: as,
      ...(run === undefined ? {} : { run }),
    },
    cause,
    beside === undefined && writes.length === 0
      ? undefined
      : { ...beside, ...(writes.length === 0 ? {} : { writes }) },
  );
  if (variable.class === 'defined') keeper?.wrote(variable, at.seq);
  return { name, from, to: value, at };
}

/** Whether others may have set it to something else meanwhile: then to set it to what it is here undoes that. */
const isShared = (variable: SettableVariable): boolean =>
  variable.class === 'defined' && (variable.key !== 'session' || variable.store !== undefined);

/** The variable of that name, if it is there and the writer may set it. */
export function settableBy(
  manifest: Pick<AgentManifest, 'context_variables'>,
  name: string,
  by: VariableWriter,
): SettableVariable {
  const all = settableVariables(manifest);
  const found = all.find((each) => each.name === name);
  if (found?.writers.includes(by) === true) return found;
  if (found !== undefined) throw notYours(name, by, found.writers);
  const { derived } = manifest.context_variables;
  if (derived.some((each) => each.name === name)) throw notByHand(name);
  throw variableUnknown(
    name,
    all.flatMap((each) => (each.writers.includes(by) ? [each.name] : [])),
  );
}

const variableUnknown = (name: string, known: readonly string[]) =>
  new RuntimeError('variable_unknown', `No runtime or defined variable is named "${name}".`, {
    hint: suggest(name, known, 'Those you may set'),
  });

const WHOSE: Readonly<Record<VariableWriter, string>> = {
  model: "the model's",
  workflow: "a workflow's",
  user: "a user's",
};

const notYours = (name: string, by: VariableWriter, writers: readonly string[]) =>
  new RuntimeError('variable_denied', `The variable "${name}" is not ${WHOSE[by]} to set.`, {
    hint: `Its "writers" are: ${writers.length === 0 ? 'nobody' : writers.join(', ')}.`,
  });

const notByHand = (name: string) =>
  new RuntimeError('variable_denied', `The variable "${name}" is derived from events, and cannot be set.`, {
    hint: 'Only variables of "context_variables.runtime" and "context_variables.defined" can be.',
  });
