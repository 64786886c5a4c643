import type { RunState, StepState } from '../events/run-state.ts';
import type { Json, JsonObject } from '../kernel/json.ts';
import type { WorkflowManifest } from '../manifest/schema/kinds.ts';
import { allSteps } from './all-steps.ts';
import { createStepFinder } from './find-steps.ts';
import { type Reference, readTemplates } from './read-templates.ts';
import type { Locals, Scope } from './scope.ts';
import type { SessionLink } from './session-link.ts';

export interface ScopeEdges {
  readonly state: RunState;
  readonly workflow: Pick<WorkflowManifest, 'context_variables' | 'steps' | 'states'>;
  readonly session?: Pick<SessionLink, 'agent'> | undefined;
  /** What `agent` shows in a run that belongs to no session: name, tools, folder… */
  readonly agentOf?: (() => JsonObject) | undefined;
}

export interface RunScope extends Scope {
  /** What `${agent.*}` shows: read once a run, when somebody looks for the first time. */
  agent(): Promise<JsonObject>;
}

type Key = Reference['path'][number];

export function createScope({ state, workflow, session, agentOf }: ScopeEdges): RunScope {
  const findStep = createStepFinder(state);
  const declared = [...allSteps(workflow)];
  const stepNames = new Set(declared.map(({ name }) => name));
  const outputKeys = new Set(declared.flatMap(({ output_key: key }) => key ?? []));
  const { runtime } = workflow.context_variables;
  const runtimeNames = new Set(runtime.map(({ name }) => name));

  let reading: Promise<JsonObject> | undefined;
  const agent = (): Promise<JsonObject> => {
    reading ??= readAgent();
    return reading;
  };
  const readAgent = async (): Promise<JsonObject> => {
    try {
      return Object.freeze(session === undefined ? (agentOf?.() ?? {}) : await session.agent());
    } catch (thrown) {
      reading = undefined; // the next look may succeed
      throw thrown;
    }
  };

  const stepView = (name: string, asker?: string): JsonObject | undefined => {
    const found = findStep(name, asker);
    if (found !== undefined) return viewOf(found);
    return stepNames.has(name) ? { status: 'pending' } : undefined;
  };
  const someSteps = (names: readonly Key[] | undefined, asker?: string): JsonObject => {
    const wanted = allThere(names, (name) => stepNames.has(name)) ?? [...stepNames];
    return Object.fromEntries(wanted.flatMap((name) => entry(name, stepView(name, asker))));
  };

  /** A variable of the run itself, or what a step has stored by `output_key`; undefined where the session has it. */
  const ownVariable = (name: string): Json | undefined => {
    if (outputKeys.has(name) && state.outputs.has(name)) return state.outputs.get(name);
    return state.variables.get(name) ?? (runtimeNames.has(name) ? null : undefined);
  };
  const isOwn = (name: string) => ownVariable(name) !== undefined;
  const ownNames = () => new Set([...runtimeNames, ...state.variables.keys(), ...outputKeys]);
  const someVariables = async (names: readonly Key[] | undefined): Promise<JsonObject> => {
    const own = allThere(names, isOwn);
    const inherited = own === undefined ? variablesOf(await agent()) : {};
    const wanted = own ?? ownNames();
    return {
      ...inherited,
      ...Object.fromEntries([...wanted].flatMap((name) => entry(name, ownVariable(name)))),
    };
  };

  /** What a root shows; `names` are the members that are asked for, all of them where undefined. */
  const rootValue = (
    root: string,
    names: readonly Key[] | undefined,
    asker?: string,
  ): Json | undefined | Promise<Json | undefined> => {
    switch (root) {
      case 'agent':
        return agent();
      case 'trigger':
        return state.origin.trigger?.seen ?? {};
      case 'steps':
        return someSteps(names, asker);
      case 'vars':
        return someVariables(names);
      case 'input':
        return state.input;
      case 'run':
        return runView(state);
    }
    return undefined;
  };

  return {
    agent,
    async forTemplate(source, locals, at) {
      const context: Record<string, Json> = {};
      const { references } = readTemplates(source, Object.keys(locals), 'a step');
      for (const [root, names] of membersByRoot(references)) {
        const value = Object.hasOwn(locals, root)
          ? locals[root]
          : await rootValue(root, names, addressOf(at));
        if (value !== undefined) context[root] = value;
      }
      return context;
    },
    async forTest(roots, locals: Locals, at) {
      const context: Record<string, unknown> = {};
      for (const root of roots) {
        const value = Object.hasOwn(locals, root)
          ? locals[root]
          : ((await rootValue(root, undefined, addressOf(at))) ?? (await bareName(root)));
        if (value !== undefined) context[root] = value;
      }
      return context;
    },
  };

  async function bareName(name: string): Promise<Json | undefined> {
    const own = name === 'metadata' ? undefined : ownVariable(name);
    if (own !== undefined) return own;
    const view = await agent();
    return name === 'metadata' ? (view.metadata ?? {}) : memberOf(variablesOf(view), name);
  }
}

const addressOf = (at: string | undefined): string | undefined => at?.split(':', 1)[0];

const entry = (name: string, value: Json | undefined): [string, Json][] =>
  value === undefined ? [] : [[name, value]];

const memberOf = (object: JsonObject, name: string): Json | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined;

const variablesOf = ({ variables }: JsonObject): JsonObject =>
  typeof variables === 'object' && variables !== null && !Array.isArray(variables)
    ? (variables as JsonObject)
    : {};

/** The names, where all of them are there; undefined where the whole is wanted, also so that an error can list it. */
function allThere(
  names: readonly Key[] | undefined,
  isThere: (name: string) => boolean,
): readonly string[] | undefined {
  if (names === undefined) return undefined;
  const there = names.filter((name): name is string => typeof name === 'string' && isThere(name));
  return there.length === names.length ? there : undefined;
}

/** For each root the members that are asked for; undefined where it is asked for as a whole. */
function membersByRoot(references: readonly Reference[]): Map<string, Key[] | undefined> {
  const roots = new Map<string, Key[] | undefined>();
  for (const { root, path } of references) {
    const [member] = path;
    if (member === undefined || (roots.has(root) && roots.get(root) === undefined))
      roots.set(root, undefined);
    else roots.set(root, [...(roots.get(root) ?? []), member]);
  }
  return roots;
}

const viewOf = ({ status, output, error }: StepState): JsonObject => ({
  status,
  ...(output === undefined ? {} : { output }),
  ...(error === undefined || status === 'completed' ? {} : { error: { ...error } as unknown as JsonObject }),
});

function runView({ id, workflow, manifest, startedAt, state, visited, origin }: RunState): JsonObject {
  return {
    id,
    workflow,
    agent: manifest.agent,
    started_at: new Date(startedAt).toISOString(),
    state: state ?? null,
    visits: visited.length,
    session: origin.session?.id ?? null,
    parent: origin.parent?.run ?? null,
  };
}
