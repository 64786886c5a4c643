import { decodeEvent } from '../../events/codec.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { frozenCopy } from '../../manifest/schema/frozen-copy.ts';
import type { Store } from '../../store/store.ts';
import { agentView } from '../agent-view.ts';
import type { PreparedAgent } from '../prepare-agent.ts';
import { readSession } from '../read-session.ts';

/** Of thoughts and responses, the newest. */
const MAX_SAID = 100;
/** Events that are looked through for them. */
const MAX_LOOKED_AT = 2_000;
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
  return Object.freeze({
    ...frozenCopy(agentView({ state, prepared, env, parent: undefined })),
    ...(await lastSaid(store, session, seq)),
    manifest: prepared.shownManifest(),
  });
}

async function lastSaid(store: Store, session: string, seq: number): Promise<JsonObject> {
  const from = Math.max(1, seq - MAX_LOOKED_AT + 1);
  const lines = await store.read(session, { from, limit: seq - from + 1 });
  const thoughts: string[] = [];
  const responses: string[] = [];
  for (const line of lines) {
    const event = decodeEvent(line, session);
    if (event.type === 'thought') thoughts.push(event.text);
    else if (event.type === 'response') responses.push(event.text);
  }
  return frozenCopy({ thoughts: thoughts.slice(-MAX_SAID), responses: responses.slice(-MAX_SAID) });
}
