import { decodeEvent } from '../events/codec.ts';
import type { SessionEvent } from '../events/event.ts';
import type { Store } from '../store/store.ts';
import type { SessionLog } from './session-log.ts';

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
