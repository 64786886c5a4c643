import { executedActions, type SessionState } from '../events/state.ts';
import type { JsonObject } from '../kernel/json.ts';
import type { TargetKind } from '../targets/target.ts';
import type { LastSaid } from './last-said.ts';
import type { PreparedAgent } from './prepare-agent.ts';

export interface AgentViewDeps {
  readonly state: SessionState;
  readonly prepared: PreparedAgent;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What it said last. */
  readonly said: LastSaid;
  /** What it shows of the agent that called this one. */
  readonly parent: (() => JsonObject) | undefined;
}

/** Gives what `${agent.*}` shows at the moment. */
export type AgentView = () => JsonObject;

/** What `${agent.*}` shows now: a copy, frozen. */
export function agentView({ state, prepared, env, said, parent }: AgentViewDeps): JsonObject {
  const { manifest, folder } = prepared.agent;
  const namesOf = (kind: TargetKind) =>
    prepared.targets.all.flatMap((target) => (target.kind === kind ? [target.name] : []));
  return Object.freeze({
    session_id: state.id,
    agent_name: state.agent,
    iteration_count: state.turn,
    started_at: new Date(state.startedAt).toISOString(),
    metadata: { ...state.metadata },
    variables: Object.fromEntries([...state.variables].map(([name, { value }]) => [name, value])),
    tools: namesOf('tool'),
    relics: namesOf('relic'),
    agents: namesOf('agent'),
    workflows: [...prepared.workflows.keys()],
    actions_executed: executedActions(state).map((executed) => ({ ...executed })),
    thoughts: said.thoughts,
    responses: said.responses,
    environment: permitted(manifest.permissions.environment, env),
    workspace_path: folder,
    manifest: prepared.shownManifest(),
    ...(parent === undefined ? {} : { parent: parent() }),
  });
}

function permitted(
  names: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const shown: Record<string, string> = {};
  for (const name of names) {
    const value = env[name];
    if (value !== undefined) shown[name] = value;
  }
  return shown;
}
