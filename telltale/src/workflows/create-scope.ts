import type { RunState, StepState } from '../events/run-state.ts';
import type { Json, JsonObject } from '../kernel/json.ts';
import type { WorkflowManifest } from '../manifest/schema/kinds.ts';
import { allSteps } from './all-steps.ts';
import { createStepFinder } from './find-steps.ts';
import { allThere, entry, type MemberNames } from './member-names.ts';
import { type ReadTemplates, readTemplates } from './read-templates.ts';
import { createRunVariables } from './run-variables.ts';
import type { Locals, Scope } from './scope.ts';
import type { SessionLink } from './session-link.ts';

export interface ScopeDeps {
  readonly state: RunState;
  readonly workflow: Pick<WorkflowManifest, 'context_variables' | 'steps' | 'states'>;
  readonly session?: Pick<SessionLink, 'agent'> | undefined;
  /** What `agent` shows in a run that belongs to no session: name, tools, folder… */
  readonly agentOf?: (() => JsonObject) | undefined;
  readonly read?: ReadTemplates;
}

export interface RunScope extends Scope {
  /** What `${agent.*}` shows: read once a run, when somebody looks for the first time. */
  agent(): Promise<JsonObject>;
  /** The same, at once, in a run that belongs to no session. */
  readonly ownAgent: (() => JsonObject) | undefined;
}

export function createScope(deps: ScopeDeps): RunScope {
  const { state, workflow, session, agentOf, read = readTemplates } = deps;
  let reading: Promise<JsonObject> | undefined;
  let own: JsonObject | undefined;
  const ownAgent = (): JsonObject => {
    own ??= Object.freeze(agentOf?.() ?? {});
    return own;
  };
  const agent = (): Promise<JsonObject> => {
    reading ??= readAgent();
    return reading;
  };
  const readAgent = async (): Promise<JsonObject> => {
    try {
      return session === undefined ? ownAgent() : Object.freeze(await session.agent());
    } catch (thrown) {
      reading = undefined; // the next look may succeed
      throw thrown;
    }
  };

  const variables = createRunVariables(state, workflow, agent);
  const findStep = createStepFinder(state);
  let stepNames: ReadonlySet<string> | undefined;
  const stepViews = (names: MemberNames, asker: string | undefined): JsonObject => {
    stepNames ??= new Set(allSteps(workflow).map(({ name }) => name));
    const wanted = allThere(names, (name) => stepNames?.has(name) === true) ?? [...stepNames];
    return Object.fromEntries(wanted.map((name) => [name, viewOf(findStep(name, asker))]));
  };

  const rootValue = (
    root: string,
    names: MemberNames,
    asker: string | undefined,
  ): Json | undefined | Promise<Json | undefined> => {
    switch (root) {
      case 'agent':
        return agent();
      case 'trigger':
        return state.origin.trigger?.seen ?? {};
      case 'steps':
        return stepViews(names, asker);
      case 'vars':
        return variables.some(names);
      case 'input':
        return state.input;
      case 'run':
        return runView(state);
    }
    return undefined;
  };
  const bareName = async (name: string): Promise<Json | undefined> =>
    name === 'metadata' ? ((await agent()).metadata ?? {}) : variables.named(name);

  return {
    agent,
    ownAgent: session === undefined ? ownAgent : undefined,
    read,
    forTemplate(source, locals, at) {
      const { roots } = read(source, Object.keys(locals), 'a step');
      const asker = addressOf(at);
      const values: Record<string, Json> = {}; // roots are reserved names, but for those of items
      const later: Promise<void>[] = [];
      for (const [root, names] of roots) {
        if (Object.hasOwn(locals, root)) continue;
        const value = rootValue(root, names, asker);
        if (value instanceof Promise)
          later.push(
            value.then((found) => {
              if (found !== undefined) values[root] = found;
            }),
          );
        else if (value !== undefined) values[root] = value;
      }
      return later.length === 0
        ? withLocals(values, locals)
        : Promise.all(later).then(() => ({ ...values, ...locals }));
    },
    async forTest(roots, locals, at) {
      const asker = addressOf(at);
      const values: [string, Json][] = [];
      for (const root of roots)
        if (!Object.hasOwn(locals, root))
          values.push(...entry(root, (await rootValue(root, undefined, asker)) ?? (await bareName(root))));
      return { ...Object.fromEntries(values), ...locals };
    },
  };
}

function withLocals(values: Record<string, Json>, locals: Locals): JsonObject {
  for (const _ in locals) return { ...values, ...locals };
  return values;
}

/** `ADDRESS:if` is a place in the step of that address. */
function addressOf(at: string | undefined): string | undefined {
  const colon = at?.indexOf(':') ?? -1;
  return colon === -1 ? at : at?.slice(0, colon);
}

/** A step that has not begun has a status and nothing else. */
function viewOf(step: StepState | undefined): JsonObject {
  if (step === undefined) return { status: 'pending' };
  const { status, output, error } = step;
  return {
    status,
    ...(output === undefined ? {} : { output }),
    ...(error === undefined || status === 'completed'
      ? {}
      : { error: { ...error } as unknown as JsonObject }),
  };
}

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
