import type { JsonObject } from '../lib/json.ts';
import { decodeEvent } from '../log/codec.ts';
import type { SessionEvent } from '../log/event.ts';
import { executedActions, type SessionState } from '../log/state.ts';
import type { Store } from '../store/store.ts';
import type { TargetKind } from '../tools/target.ts';
import type { PreparedAgent } from './prepare-agent.ts';
import type { SessionLog } from './session-log.ts';

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

/** Of thoughts and responses, the newest. */
const MAX_SAID = 100;
/** Events that are looked through for them: no more than a resumed session may have to read for its state. */
const MAX_LOOKED_AT = 1_000;

/** The newest thoughts and responses of a session, the oldest first. */
export interface LastSaid {
  readonly thoughts: readonly string[];
  readonly responses: readonly string[];
}

export const NOTHING_SAID: LastSaid = Object.freeze({ thoughts: [], responses: [] });

/** As they were at a place on the log. */
export async function readLastSaid(store: Store, session: string, seq: number): Promise<LastSaid> {
  const from = Math.max(1, seq - MAX_LOOKED_AT + 1);
  const lines = await store.read(session, { from, limit: seq - from + 1 });
  let said = NOTHING_SAID;
  for (const line of lines) said = withSaid(said, decodeEvent(line, session));
  return said;
}

/** Keeps them while the session works. */
export async function followSaid(
  log: SessionLog,
  store: Store,
  resumed: boolean,
): Promise<{ readonly now: () => LastSaid }> {
  let said = resumed ? await readLastSaid(store, log.state.id, log.state.seq) : NOTHING_SAID;
  log.react((event) => {
    said = withSaid(said, event);
  });
  return { now: () => said };
}

function withSaid(said: LastSaid, event: SessionEvent): LastSaid {
  if (event.type === 'thought') return { ...said, thoughts: newest(said.thoughts, event.text) };
  if (event.type === 'response') return { ...said, responses: newest(said.responses, event.text) };
  return said;
}

const newest = (texts: readonly string[], text: string) => [...texts, text].slice(-MAX_SAID);

export type TestContext = Readonly<Record<string, unknown>>;

/** What tests read: `metadata vars actions agent`. Each part is made only when an expression looks at it. */
export function createTestContext(state: SessionState, agent: () => JsonObject): TestContext {
  return {
    get metadata() {
      return state.metadata;
    },
    get vars() {
      return Object.fromEntries([...state.variables].map(([name, { value }]) => [name, value]));
    },
    get actions() {
      const actions: Record<string, JsonObject> = {};
      for (const [id, { status, output, error }] of state.actions)
        actions[id] = {
          status,
          ...(output === undefined ? {} : { output }),
          ...(error === undefined ? {} : { error: { code: error.code, message: error.message } }),
        };
      return actions;
    },
    get agent() {
      return agent();
    },
  };
}
