import type { JsonObject } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import { compileCheck } from '../../targets/check-parameters.ts';
import type { Target } from '../../targets/target.ts';
import { cancelAction } from './cancel-action.ts';
import { completeStep } from './complete-step.ts';
import type { Definition, InternalDeps } from './definition.ts';
import { deleteVariable } from './delete-variable.ts';
import { addContextFeed } from './feeds/add-context-feed.ts';
import { listContextFeeds } from './feeds/list-context-feeds.ts';
import { readContextFeed } from './feeds/read-context-feed.ts';
import { removeContextFeed } from './feeds/remove-context-feed.ts';
import { updateContextFeed } from './feeds/update-context-feed.ts';
import { handoffAction } from './handoff.ts';
import { listActions } from './list-actions.ts';
import { queryKnowledgeGraph } from './memory/query-knowledge-graph.ts';
import { updateKnowledgeGraph } from './memory/update-knowledge-graph.ts';
import { readArtifact } from './read-artifact.ts';
import { readOutputAction } from './read-output.ts';
import { rollbackAction } from './rollback.ts';
import { rollbackArtifact } from './rollback-artifact.ts';
import { setVariable } from './set-variable.ts';
import { writeArtifact } from './write-artifact.ts';

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
