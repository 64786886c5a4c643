import type { JsonObject } from '../../lib/json.ts';
import { frozenCopy } from '../../manifest/schema/plain-values.ts';
import type { Store } from '../../store/store.ts';
import { agentView, readLastSaid } from '../agent-view.ts';
import type { PreparedAgent } from '../prepare-agent.ts';
import { readSession } from '../read-session.ts';

/** Places that are remembered: one change of state may set many workflows off, which all look at it. */
const MAX_KEPT = 32;

/**
 * What `${agent.*}` shows of a session at a place on its log: frozen, the same whenever it is read. The log is read for
 * it, so it is asked for only where something names it.
 */
export type AgentSnapshots = (session: string, seq: number, prepared: PreparedAgent) => Promise<JsonObject>;

export function createAgentSnapshots(
  store: Store,
  env: Readonly<Record<string, string | undefined>>,
): AgentSnapshots {
  const kept = new Map<string, Promise<JsonObject>>();
  return (session, seq, prepared) => {
    const key = `${session} ${seq}`;
    const known = kept.get(key);
    if (known !== undefined) return known;
    const reading = readSnapshot(store, session, seq, prepared, env);
    const [oldest] = kept.keys();
    if (kept.size >= MAX_KEPT && oldest !== undefined) kept.delete(oldest);
    kept.set(key, reading);
    reading.catch(() => kept.delete(key)); // the next look may succeed
    return reading;
  };
}

async function readSnapshot(
  store: Store,
  session: string,
  seq: number,
  prepared: PreparedAgent,
  env: Readonly<Record<string, string | undefined>>,
): Promise<JsonObject> {
  const state = await readSession(store, session, seq);
  const said = await readLastSaid(store, session, seq);
  const { manifest = {}, ...view } = agentView({ state, prepared, env, said, parent: undefined });
  return Object.freeze({ ...frozenCopy(view), manifest }); // the manifest is frozen, and the same for all
}
