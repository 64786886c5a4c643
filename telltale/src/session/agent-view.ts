import type { SessionState } from '../events/state.ts';
import type { JsonObject } from '../kernel/json.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import type { Target } from '../targets/target.ts';

/** Actions that `agent.actions_executed` holds. */
const MAX_ACTIONS = 100;

export interface AgentViewEdges {
  readonly state: SessionState;
  readonly manifest: AgentManifest;
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly targets: () => readonly Target[];
}

/** What `${agent.*}` shows at this moment: a copy, frozen, made only where it is asked for. */
export type AgentView = () => JsonObject;

export function createAgentView({ state, manifest, folder, env, targets }: AgentViewEdges): AgentView {
  const environment: Record<string, string> = {};
  for (const name of manifest.permissions.environment) {
    const value = env[name];
    if (value !== undefined) environment[name] = value;
  }
  const namesOf = (kind: Target['kind']) =>
    targets()
      .filter((target) => target.kind === kind)
      .map(({ name }) => name);
  return () =>
    Object.freeze({
      session_id: state.id,
      agent_name: state.agent,
      iteration_count: state.turn,
      started_at: new Date(state.startedAt).toISOString(),
      metadata: { ...state.metadata },
      variables: Object.fromEntries([...state.variables].map(([name, { value }]) => [name, value])),
      tools: namesOf('tool'),
      relics: namesOf('relic'),
      agents: namesOf('agent'),
      workflows: namesOf('workflow'),
      actions_executed: lastActions(state),
      environment,
      workspace_path: folder,
    });
}

function lastActions(state: SessionState): JsonObject[] {
  const ids = [...state.actions.keys()].slice(-MAX_ACTIONS);
  return ids.flatMap((id) => {
    const found = state.actions.get(id);
    return found === undefined ? [] : [{ id, name: found.action.name, status: found.status }];
  });
}
