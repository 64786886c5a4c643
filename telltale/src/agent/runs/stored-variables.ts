import type { RunJournal } from '../../engine/run-log.ts';
import type { Json } from '../../lib/json.ts';
import type { RunEventBody } from '../../log/run-event.ts';
import type { TableWrite } from '../../store/store.ts';
import { readSession } from '../read-session.ts';
import {
  classOf,
  type DefinedVariable,
  scopeOf,
  type VariableKeys,
  type VariableWriter,
  valueProblem,
} from '../variables/declared-variables.ts';
import { tableOf } from '../variables/variable-keeper.ts';
import type { NewRun, RunEnvironment, RunStoredValues, RunsDeps } from './run-environment.ts';

type StoredVariablesRun = Pick<NewRun, 'id' | 'workflow' | 'agentSource' | 'origin'>;

/**
 * The stored variables that a run reads and writes itself: those of its workflow, except names that its
 * session defines, and without a session also those of the agent, except with `key: session`. Variables in a
 * relic live only as long as the run.
 */
export function storedVariablesOf({
  workflow,
  agentSource,
  origin,
}: Omit<StoredVariablesRun, 'id'>): readonly DefinedVariable[] {
  const own = workflow.context_variables.defined;
  const { manifest } = agentSource.agent;
  const { defined } = manifest.context_variables;
  const inStore = ({ store }: DefinedVariable) => store === undefined;
  if (origin.session !== undefined)
    return own.filter((each) => inStore(each) && classOf(manifest, each.name) === undefined);
  const below = defined.filter(({ name }) => classOf(workflow, name) === undefined);
  return [...own, ...below].filter((each) => inStore(each) && each.key !== 'session');
}

/** Reads stored values when a run starts. Undefined if the run has no stored variables. */
export async function readRunValues(
  deps: RunsDeps,
  run: StoredVariablesRun,
): Promise<RunStoredValues | undefined> {
  const variables = storedVariablesOf(run);
  if (variables.length === 0) return undefined;
  const keys = await keysOf(deps, run, variables);
  const scopes: Record<string, string> = {};
  const values: Record<string, Json> = {};
  for (const variable of variables) {
    const { name, default: byDefault } = variable;
    const scope = scopeOf(variable, keys);
    const found = scope === undefined ? undefined : await deps.store.tables.get(tableOf(scope), name);
    const value = found === undefined || valueProblem(variable, found) !== undefined ? byDefault : found;
    if (scope !== undefined) scopes[name] = scope;
    if (value !== undefined) values[name] = value as Json;
  }
  return { scopes, values };
}

/** Reads the session's state only if a key needs it, because that folds its log. */
async function keysOf(
  { store, user }: RunsDeps,
  { id, agentSource, origin }: StoredVariablesRun,
  variables: readonly DefinedVariable[],
): Promise<VariableKeys> {
  const agent = agentSource.agent.manifest.name;
  const { session } = origin;
  const asksMore = variables.some(({ key }) => key !== 'session' && key !== 'agent');
  if (session === undefined || !asksMore) return { session: session?.id ?? id, agent, user, metadata: {} };
  const state = await readSession(store, session.id, session.seq);
  return { session: session.id, agent, user: state.user ?? user, metadata: state.metadata };
}

/**
 * Wraps the journal so that a change of a stored variable is written to the log and to its table in one
 * transaction.
 */
export function storingJournal(
  journal: RunJournal,
  environment: Pick<RunEnvironment, 'agent' | 'workflow'>,
): RunJournal {
  const { kept, origin } = journal.state;
  if (kept === undefined) return journal;
  const known = new Map(
    storedVariablesOf({ workflow: environment.workflow, agentSource: environment, origin }).map((each) => [
      each.name,
      each,
    ]),
  );
  const writesOf = (body: RunEventBody): readonly TableWrite[] => {
    const set = setBy(body);
    const scope = set === undefined ? undefined : kept[set.name];
    const variable = set === undefined ? undefined : known.get(set.name);
    return set === undefined || scope === undefined || variable === undefined
      ? []
      : writeOf(variable, scope, set.value, set.by);
  };
  return {
    ...journal,
    append(body, cause, beside) {
      const writes = writesOf(body);
      if (writes.length === 0) return journal.append(body, cause, beside);
      return journal.append(body, cause, { ...beside, writes: [...(beside?.writes ?? []), ...writes] });
    },
  };
}

/** The table writes for stored variables that are passed to a new run. */
export function initialWrites({ kept, vars = {}, ...run }: NewRun): readonly TableWrite[] {
  if (kept === undefined) return [];
  return storedVariablesOf(run).flatMap((variable) => {
    const scope = kept.scopes[variable.name];
    const value = Object.hasOwn(vars, variable.name) ? vars[variable.name] : undefined;
    return scope === undefined || value === undefined ? [] : writeOf(variable, scope, value, 'user');
  });
}

/** A value that may not be stored, or has the wrong type, only holds within the run. */
const writeOf = (
  variable: DefinedVariable,
  scope: string,
  value: Json,
  by: VariableWriter,
): readonly TableWrite[] =>
  variable.writers.includes(by) && valueProblem(variable, value) === undefined
    ? [{ table: tableOf(scope), key: variable.name, value }]
    : [];

interface SetByRun {
  readonly name: string;
  readonly value: Json;
  readonly by: VariableWriter;
}

/** The variable that an event sets. A writer that is not a step is an agent that completed a task. */
function setBy(body: RunEventBody): SetByRun | undefined {
  if (body.type === 'variable.changed')
    return { name: body.name, value: body.to, by: body.by.startsWith('step ') ? 'workflow' : 'model' };
  if (body.type !== 'step.completed' || body.output_key === undefined) return undefined;
  return { name: body.output_key, value: body.output, by: 'workflow' };
}
