import type { SessionEvent } from '../../events/event.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { frozenCopy } from '../../manifest/schema/frozen-copy.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import type { Store } from '../../store/store.ts';
import { createAgentView } from '../agent-view.ts';
import type { PreparedAgent } from '../prepare-agent.ts';
import { readEvents, readSession } from '../read-session.ts';

/** Of thoughts and responses, the newest. */
const MAX_SAID = 100;
/** Events that are looked through for them. */
const MAX_LOOKED_AT = 5_000;

/**
 * What `${agent.*}` shows of a session at a place on its log: frozen, the same whenever it is read. The log is read for
 * it, so it is asked for only where something names it.
 */
export async function agentSnapshot(
  store: Store,
  session: string,
  seq: number,
  prepared: PreparedAgent,
  env: Readonly<Record<string, string | undefined>>,
): Promise<JsonObject> {
  const state = await readSession(store, session, seq);
  const late = await readEvents(store, session, Math.max(1, seq - MAX_LOOKED_AT));
  const events = late.filter((event) => event.seq <= seq);
  const view = createAgentView({ state, prepared, env, parent: undefined })();
  return frozenCopy({
    ...view,
    thoughts: lastTexts(events, 'thought'),
    responses: lastTexts(events, 'response'),
    manifest: shownManifest(prepared.agent.manifest),
  });
}

const lastTexts = (events: readonly SessionEvent[], type: 'thought' | 'response'): string[] =>
  events.flatMap((event) => (event.type === type ? [event.text] : [])).slice(-MAX_SAID);

/** Without what may hold secrets of the environment: imports name the variables of MCP servers, hooks those of programs. */
export const shownManifest = ({ import: _, hooks: __, ...manifest }: AgentManifest): JsonObject =>
  JSON.parse(JSON.stringify(manifest)) as JsonObject;
