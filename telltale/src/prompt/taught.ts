import { isJsonObject } from '../lib/json.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import type { DescribedTarget } from './notation.ts';

/** Kinds of targets that are called with each item of a list: those that do larger work, and those that keep data. */
const COMPOSING: ReadonlySet<string> = new Set(['agent', 'workflow', 'relic', 'artifact']);

/** What of the protocol a prompt teaches: what this agent can use. The rest works all the same. */
export interface Taught {
  /** `<foreach>`. */
  readonly loops: boolean;
  /** `<if>`, and `if` of an action. */
  readonly tests: boolean;
  /** `compensate`. */
  readonly undo: boolean;
  readonly templates: boolean;
  /** That parameters are wrapped where one of them could be taken for the wrapping. */
  readonly wraps: boolean;
}

export const taughtTo = (agent: AgentManifest, targets: readonly DescribedTarget[]): Taught => ({
  loops: targets.some(({ kind }) => COMPOSING.has(kind)),
  tests: variablesOf(agent) > 0 && targets.length > 0,
  undo: isUndoable(agent) && targets.length > 0,
  templates: Object.keys(agent.action_templates).length > 0,
  wraps: targets.some(
    ({ parameters: { properties } }) => isJsonObject(properties) && 'parameters' in properties,
  ),
});

const variablesOf = ({ context_variables: { defined, runtime, derived } }: AgentManifest): number =>
  defined.length + runtime.length + derived.length;

/** Whether completed actions of this agent can be undone: the manifest says how, or allows `rollback` by name. */
export function isUndoable({
  internal_actions: internal,
  action_templates: templates,
}: AgentManifest): boolean {
  if (internal.allowed_actions?.some((name) => name === 'rollback') === true) return true;
  return Object.values(templates).some(({ compensate }) => compensate !== undefined);
}

/** Agents that the conversation may move to: they are taught as that, not as agents to call. */
const speakers = ({ handoff, group }: AgentManifest): ReadonlySet<string> =>
  new Set([
    ...handoff.map((entry) => (typeof entry === 'string' ? entry : entry.to)),
    ...(group?.agents ?? []),
  ]);

/**
 * Prompts that the manifest declares, or that one of its templates calls; agents that the conversation does not move to;
 * every other target.
 */
export function isTaughtTarget(
  agent: AgentManifest,
  { kind, name }: Pick<DescribedTarget, 'kind' | 'name'>,
): boolean {
  if (kind === 'agent') return !speakers(agent).has(name);
  if (kind !== 'llm' || Object.hasOwn(agent.prompts, name)) return true;
  const { action_templates: templates } = agent;
  return Object.values(templates).some((each) => {
    const base = each.template === undefined ? undefined : templates[each.template];
    return (each.name ?? base?.name) === name && (each.type ?? base?.type) === 'llm';
  });
}
