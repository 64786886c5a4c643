import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { type ActionStatus, COMPLETE_STEP, hasEnded, idFor, newestOf, ROLLBACK } from '../../log/action.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import { maxResultOf } from '../../prompt/block-style.ts';
import { readOutput } from '../../prompt/show-result.ts';
import { isUndoable } from '../../prompt/taught.ts';
import { orAborted } from '../../tools/abort.ts';
import { artifactUnknown, versionUnknown } from '../../tools/artifacts/artifacts.ts';
import { compileCheck } from '../../tools/check-parameters.ts';
import type { Target } from '../../tools/target.ts';
import { claimWithOurNames } from '../../workflows/guided/check-claim.ts';
import { settableVariables } from '../variables/declared-variables.ts';
import { settableBy } from '../variables/session-variables.ts';
import {
  DEFINITION_PROPERTIES,
  type Definition,
  hasFeeds,
  type InternalDeps,
  noSuchAction,
} from './definition.ts';
import { handoffAction } from './handoff.ts';
import { queryKnowledgeGraph, updateKnowledgeGraph } from './memory-actions.ts';
import {
  authorOf,
  cancelAction,
  listActions,
  mayNotRead,
  mustBeAllowedToWrite,
  writesNone,
  written,
} from './session-actions.ts';
import { writeArtifact } from './write-artifact.ts';

const noneToWrite = (manifest: AgentManifest): string | undefined =>
  settableVariables(manifest).some(({ writers }) => writers.includes('model'))
    ? undefined
    : 'The manifest declares no variable in "context_variables.runtime" or "context_variables.defined" that the model may write.';

const readOutputAction: Definition = {
  name: 'read_output',
  description: 'Shows more of a result that was cut.',
  idempotent: true,
  parameters: {
    type: 'object',
    properties: {
      id: { type: 'string', description: 'Id of the action.' },
      offset: { type: 'integer', minimum: 0, description: 'First character.' },
      limit: { type: 'integer', minimum: 1, description: 'Characters.' },
    },
    required: ['id'],
    additionalProperties: false,
  },
  shownParameters: {
    type: 'object',
    properties: { id: { type: 'string' }, offset: { type: 'integer' } },
    required: ['id'],
  },
  run: async (input, { state, manifest }) => {
    const { id, offset, limit } = input as { id: string; offset?: number; limit?: number };
    const action = state.actions.get(newestOf(state, id));
    if (action === undefined) throw noSuchAction(id, state);
    // An empty page would read as an empty result.
    if (!hasEnded(action.status)) throw notEnded(id, action.status);
    return { ...readOutput(action, maxResultOf(manifest), offset, limit) };
  },
};

const notEnded = (id: string, status: ActionStatus) =>
  new RuntimeError('action_not_ended', `The action "${id}" has no result yet: it is ${status}.`, {
    hint: `You are shown its result when it has ended. To read on in it then, write "depends_on": ["${id}"].`,
  });

const MAX_LISTED = 500;

const readArtifact: Definition = {
  name: 'read_artifact',
  description:
    'Shows the source, methods, version and author of a decision artifact. Without "name" it lists all artifacts.',
  idempotent: true,
  parameters: {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'Its name.' },
      version: { type: 'integer', minimum: 1, description: 'Default: the newest.' },
    },
    additionalProperties: false,
  },
  useless: mayNotRead,
  run: async (input, { artifactStore }) => {
    const { name, version } = input as { name?: string; version?: number };
    const { artifacts } = await artifactStore();
    if (name === undefined) return { artifacts: (await artifacts.names()).slice(0, MAX_LISTED) };
    const newest = await artifacts.read(name);
    if (newest === undefined) throw artifactUnknown(name, await artifacts.names());
    const found = version === undefined ? newest : await artifacts.read(name, version);
    if (found === undefined) throw versionUnknown(name, version ?? 0, newest.version);
    return {
      ...found,
      methods: [...found.methods],
      at: new Date(found.at).toISOString(),
      newest: newest.version,
    };
  },
};

const completeStep: Definition = {
  name: COMPLETE_STEP,
  description: 'Completes the current step, after running actions have ended.',
  idempotent: true, // it only says something, and says it once
  timeoutMs: Number.POSITIVE_INFINITY, // it waits for others, which have limits of their own
  parameters: {
    type: 'object',
    properties: {
      notes: {
        type: 'string',
        description: 'What you did and what came of it, in at least 50 characters of your own words.',
      },
      context_updates: { type: 'object', description: 'Values the step asks for.' },
      evidence: {
        type: 'array',
        items: { type: 'string' },
        description: 'Ids of actions that prove it.',
      },
      artifacts: { type: 'array', items: {}, description: 'What the step produced, besides notes.' },
    },
    required: ['notes'],
    additionalProperties: false,
  },
  underOurNames: claimWithOurNames,
  run: (input, { completeStep: complete }, own, signal) => complete(input, own, signal),
};

const rollbackAction: Definition = {
  name: ROLLBACK,
  description:
    'Undoes completed actions in reverse order, down to and including "to", by running the "compensate" of each.',
  idempotent: true, // what it does are actions of their own, each once; what is undone by then is not undone again
  isTaught: isUndoable,
  timeoutMs: Number.POSITIVE_INFINITY, // these have limits of their own, and a person may have to be asked about one
  parameters: {
    type: 'object',
    properties: { to: { type: 'string', description: 'Id of the last action to undo (default: all).' } },
    additionalProperties: false,
  },
  run: async (input, { state, rollback }, own, signal) => {
    const { to: asked } = input as { to?: string };
    const to = asked === undefined ? undefined : newestOf(state, asked);
    if (asked !== undefined && !state.actions.has(to ?? '')) throw noSuchAction(asked, state);
    const { undone, left } = await orAborted(rollback(to, own, signal), 'internal action "rollback"', signal);
    const named = (ids: readonly string[]) => ids.map((id) => idFor(state, id));
    return { undone: named(undone), ...(left.length === 0 ? {} : { not_undone: named(left) }) };
  },
};

const setVariable: Definition = {
  name: 'set_variable',
  description: 'Sets a variable.',
  idempotent: true,
  parameters: {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'Its name.' },
      value: { description: 'The new value.' },
    },
    required: ['name', 'value'],
    additionalProperties: false,
  },
  useless: noneToWrite,
  run: async (input, deps) => {
    const { name, value } = input as { name: string; value: Json };
    const { from, to } = deps.setVariable(name, value, 'model');
    return { name, from, to };
  },
};

const rollbackArtifact: Definition = {
  name: 'rollback_artifact',
  description: 'Makes an old version of a decision artifact the newest again.',
  idempotent: false,
  parameters: {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'Its name.' },
      to: { type: 'integer', minimum: 1, description: 'The old version.' },
    },
    required: ['name', 'to'],
    additionalProperties: false,
  },
  useless: writesNone,
  run: async (input, deps) => {
    const { name, to } = input as { name: string; to: number };
    await mustBeAllowedToWrite(name, deps);
    const { artifacts } = await deps.artifactStore();
    return written(deps, await artifacts.rollback(name, to, authorOf(deps.manifest)));
  },
};

const deleteVariable: Definition = {
  name: 'delete_variable',
  description: 'Resets a variable to its default, or to null if it has none.',
  idempotent: true,
  parameters: {
    type: 'object',
    properties: { name: { type: 'string', description: 'Its name.' } },
    required: ['name'],
    additionalProperties: false,
  },
  useless: noneToWrite,
  run: async (input, deps) => {
    const { name } = input as { name: string };
    const byDefault = (settableBy(deps.manifest, name, 'model').default ?? null) as Json;
    const { from, to } = deps.setVariable(name, byDefault, 'model', { resets: true });
    return { name, from, to };
  },
};

const addContextFeed: Definition = {
  name: 'add_context_feed',
  description: 'Adds a feed: you see its value whenever it changes.',
  idempotent: true,
  parameters: {
    type: 'object',
    properties: {
      id: { type: 'string', description: 'A new name.' },
      ...DEFINITION_PROPERTIES,
    },
    required: ['id', 'source'],
    additionalProperties: false,
  },
  isTaught: hasFeeds,
  run: async (input, { feeds }) => (await feeds()).add(input as JsonObject),
};

const readContextFeed: Definition = {
  name: 'read_context_feed',
  description: 'Shows the current value of a feed.',
  idempotent: true,
  parameters: {
    type: 'object',
    properties: {
      id: { type: 'string' },
      refresh: { type: 'boolean', description: 'Load it again.' },
    },
    required: ['id'],
    additionalProperties: false,
  },
  isTaught: hasFeeds,
  run: async ({ id, refresh }, { feeds }, _own, signal) =>
    (await feeds()).read(String(id), refresh === true, signal),
};

const updateContextFeed: Definition = {
  name: 'update_context_feed',
  description: 'Changes these fields of a feed.',
  idempotent: true,
  parameters: {
    type: 'object',
    properties: { id: { type: 'string', description: 'Its id.' }, ...DEFINITION_PROPERTIES },
    required: ['id'],
    additionalProperties: false,
  },
  isTaught: hasFeeds,
  run: async (input, { feeds }) => (await feeds()).update(input as JsonObject),
};

const removeContextFeed: Definition = {
  name: 'remove_context_feed',
  description: 'Removes a feed.',
  idempotent: true,
  parameters: {
    type: 'object',
    properties: { id: { type: 'string' } },
    required: ['id'],
    additionalProperties: false,
  },
  isTaught: hasFeeds,
  run: async ({ id }, { feeds }) => (await feeds()).remove(String(id)),
};

const listContextFeeds: Definition = {
  name: 'list_context_feeds',
  description: 'Lists your feeds with sources, ages and errors.',
  idempotent: true,
  parameters: { type: 'object', properties: {}, additionalProperties: false },
  isTaught: hasFeeds,
  run: async (_, { feeds }) => (await feeds()).list(),
};

const DEFINITIONS: readonly Definition[] = [
  readOutputAction,
  rollbackAction,
  listActions,
  cancelAction,
  handoffAction,
  setVariable,
  deleteVariable,
  readArtifact,
  writeArtifact,
  rollbackArtifact,
  addContextFeed,
  updateContextFeed,
  removeContextFeed,
  listContextFeeds,
  readContextFeed,
  queryKnowledgeGraph,
  updateKnowledgeGraph,
];

/** The names of those there are. */
export const INTERNAL_ACTIONS: readonly string[] = [...DEFINITIONS, completeStep].map(({ name }) => name);

/** An internal action, made ready once for all sessions of an agent. */
export interface InternalAction
  extends Omit<Definition, 'run' | 'useless' | 'isTaught' | 'underOurNames' | 'shownTo'> {
  /** Whether the prompt teaches it to an agent with these targets. */
  isTaught(targets: readonly Pick<Target, 'kind' | 'name'>[]): boolean;
  check(input: JsonObject): RuntimeError | undefined;
  /** The same as something a session's scheduler can call. */
  bind(deps: InternalDeps): Target;
}

/** The actions on the agent's own environment that its manifest allows and that it has a use for. */
export function allowedInternalActions(manifest: AgentManifest): readonly InternalAction[] {
  return DEFINITIONS.filter(
    ({ name, useless }) => whyNot(name, manifest) === undefined && useless?.(manifest) === undefined,
  ).map((definition) => {
    const shownParameters = definition.shownTo?.(manifest);
    const shown = shownParameters === undefined ? definition : { ...definition, shownParameters };
    return prepared(shown, teaching(definition, manifest));
  });
}

/** What the manifest names is taught; else what this agent has a use for. */
const teaching =
  ({ name, isTaught }: Definition, manifest: AgentManifest): InternalAction['isTaught'] =>
  (targets) =>
    manifest.internal_actions.allowed_actions?.some((each) => each === name) === true ||
    isTaught === undefined ||
    isTaught(manifest, targets);

/** What an agent has in a session that is led, whatever its manifest allows: without it no step would ever end. */
export const ledInternalAction = (): InternalAction => prepared(completeStep, () => true);

/** Why an internal action that there is cannot be called; undefined for one that can, and for one that there is not. */
export function notAllowed(name: string, manifest: AgentManifest): RuntimeError | undefined {
  if (name === completeStep.name) return notLed();
  const definition = DEFINITIONS.find((each) => each.name === name);
  if (definition === undefined) return undefined;
  const why = whyNot(name, manifest);
  if (why !== undefined) return blocked(name, why);
  const useless = definition.useless?.(manifest);
  return useless === undefined ? undefined : blocked(name, useless);
}

/** A block beats an allowance. */
function whyNot(name: string, { internal_actions: settings }: AgentManifest): string | undefined {
  const { enabled, allowed_actions: allowed, blocked_actions: forbidden } = settings;
  if (!enabled) return 'The manifest says "internal_actions: { enabled: false }".';
  if (forbidden.some((each) => each === name))
    return 'The manifest names it in "internal_actions: { blocked_actions }".';
  if (allowed !== undefined && !allowed.some((each) => each === name))
    return 'The manifest does not name it in "internal_actions: { allowed_actions }".';
  return undefined;
}

function prepared(
  {
    run,
    useless: _,
    isTaught: __,
    shownTo: ___,
    underOurNames = (input) => input,
    ...definition
  }: Definition,
  isTaught: InternalAction['isTaught'],
): InternalAction {
  const checked = compileCheck(definition.parameters, `internal action "${definition.name}"`);
  const check = (given: JsonObject) => {
    const input = underOurNames(given);
    return input instanceof RuntimeError ? input : checked(input);
  };
  return {
    ...definition,
    isTaught,
    check,
    bind: (deps) => ({
      ...definition,
      kind: 'internal',
      start: 'on_close',
      check,
      run: ({ input: given, id, signal }) => {
        const input = underOurNames(given);
        return input instanceof RuntimeError ? Promise.reject(input) : run(input, deps, id, signal);
      },
    }),
  };
}

const notLed = () =>
  new RuntimeError('no_step', 'There is no step to complete: no workflow leads you.', {
    hint: 'Whoever gave you the task completes its steps. Give your final response instead.',
  });

const blocked = (name: string, why: string) =>
  new RuntimeError('not_permitted', `The internal action "${name}" is not allowed to this agent.`, {
    hint: why,
  });
