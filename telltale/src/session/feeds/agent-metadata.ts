import type { SessionState } from '../../events/state.ts';
import type { JsonObject } from '../../kernel/json.ts';
import type { Store } from '../../store/store.ts';
import { childId } from '../children/child-id.ts';
import { readSession } from '../read-session.ts';

/** Sessions that are looked through for the newest one of an agent. */
const MAX_SESSIONS = 500;

/**
 * The metadata of another agent: of the one that this session has called and that is at work, else of its newest
 * session in the store, whoever it was for: that is the manifest's to ask for. With `onlyCalled` it is that of the last
 * one that this session has called. Undefined where it never ran.
 */
export async function agentMetadata(
  store: Store,
  state: SessionState,
  agent: string,
  onlyCalled: boolean,
): Promise<JsonObject | undefined> {
  const session = onlyCalled
    ? calledLast(state, agent, [...state.actions.keys()])
    : (calledLast(state, agent, [...state.open]) ?? (await newestOf(store, agent, state.id)));
  if (session === undefined || (await store.info(session)) === undefined) return undefined;
  const { metadata } = await readSession(store, session);
  return { ...metadata };
}

function calledLast(state: SessionState, agent: string, actions: readonly string[]): string | undefined {
  const id = actions.findLast((action) => {
    const called = state.actions.get(action)?.action;
    return called?.kind === 'agent' && called.name === agent;
  });
  return id === undefined ? undefined : childId(state, id);
}

async function newestOf(store: Store, agent: string, own: string): Promise<string | undefined> {
  const sessions = await store.list({ kind: 'session', limit: MAX_SESSIONS });
  return sessions.find(({ name, stream }) => name === agent && stream !== own)?.stream;
}
