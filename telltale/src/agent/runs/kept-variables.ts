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
import type { KeptByRun, NewRun } from './new-run.ts';
import type { Realm, RunsDeps } from './run-environment.ts';

type KeptVariablesBegun = Pick<NewRun, 'id' | 'workflow' | 'ground' | 'origin'>;

/**
 * The defined variables that a run reads and writes by itself: its workflow's own, but for those that its session has
 * under the same name; without a session those of the agent, too, but for what is kept by session. Those in a relic
 * live for the run.
 */
export function keptVariables({
  workflow,
  ground,
  origin,
}: Omit<KeptVariablesBegun, 'id'>): readonly DefinedVariable[] {
  const own = workflow.context_variables.defined;
  const { manifest } = ground.agent;
  const { defined } = manifest.context_variables;
  const inStore = ({ store }: DefinedVariable) => store === undefined;
  if (origin.session !== undefined)
    return own.filter((each) => inStore(each) && classOf(manifest, each.name) === undefined);
  const below = defined.filter(({ name }) => classOf(workflow, name) === undefined);
  return [...own, ...below].filter((each) => inStore(each) && each.key !== 'session');
}

/** Reads what is kept, as a run begins; undefined where it keeps nothing. */
export async function readKeptByRun(deps: RunsDeps, run: KeptVariablesBegun): Promise<KeptByRun | undefined> {
  const variables = keptVariables(run);
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

/** Of a run's session only what is asked for is read: that folds its log. */
async function keysOf(
  { store, user }: RunsDeps,
  { id, ground, origin }: KeptVariablesBegun,
  variables: readonly DefinedVariable[],
): Promise<VariableKeys> {
  const agent = ground.agent.manifest.name;
  const { session } = origin;
  const asksMore = variables.some(({ key }) => key !== 'session' && key !== 'agent');
  if (session === undefined || !asksMore) return { session: session?.id ?? id, agent, user, metadata: {} };
  const state = await readSession(store, session.id, session.seq);
  return { session: session.id, agent, user: state.user ?? user, metadata: state.metadata };
}

/** The journal of a run that keeps variables: a change goes to log and table in one transaction. */
export function keepingJournal(journal: RunJournal, realm: Pick<Realm, 'agent' | 'workflow'>): RunJournal {
  const { kept, origin } = journal.state;
  if (kept === undefined) return journal;
  const known = new Map(
    keptVariables({ workflow: realm.workflow, ground: realm, origin }).map((each) => [each.name, each]),
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

/** What is given to a run as it begins and outlives it. */
export function givenWrites({ kept, vars = {}, ...run }: NewRun): readonly TableWrite[] {
  if (kept === undefined) return [];
  return keptVariables(run).flatMap((variable) => {
    const scope = kept.scopes[variable.name];
    const value = Object.hasOwn(vars, variable.name) ? vars[variable.name] : undefined;
    return scope === undefined || value === undefined ? [] : writeOf(variable, scope, value, 'user');
  });
}

/** What may not be set so, or does not fit, holds in the run, as whatever a step stores by `output_key` does. */
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

/** The variable that an event sets. Who is no step is an agent that completed a task. */
function setBy(body: RunEventBody): SetByRun | undefined {
  if (body.type === 'variable.changed')
    return { name: body.name, value: body.to, by: body.by.startsWith('step ') ? 'workflow' : 'model' };
  if (body.type !== 'step.completed' || body.output_key === undefined) return undefined;
  return { name: body.output_key, value: body.output, by: 'workflow' };
}
