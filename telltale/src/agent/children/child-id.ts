import { createHash } from 'node:crypto';
import type { SessionState } from '../../log/state.ts';

/** Longer ones are known by their hash: an action's id is the model's to choose. */
const MAX_CHARS = 256;
const HASH_CHARS = 32;

/**
 * The session of the sub-agent that an action calls: the same for the same action, so that it is found again after a
 * crash. A try that follows a failed one is a session of its own.
 */
export function childId({ id: session, children }: SessionState, action: string): string {
  const tries = children.find((cursor) => cursor.action === action)?.tries ?? 0;
  const id = `${session}.${action}${tries === 0 ? '' : `~${tries + 1}`}`;
  return shortened(id);
}

function shortened(id: string): string {
  if (id.length <= MAX_CHARS) return id;
  return `ses_${createHash('sha256').update(id).digest('hex').slice(0, HASH_CHARS)}`;
}

/** The session of an agent that has the conversation: the same each time, so that it remembers what it said. */
export const speakerId = ({ id }: Pick<SessionState, 'id'>, agent: string): string =>
  shortened(`${id}.speaker.${agent}`);

/** The sessions below one that has not ended, whether or not they have begun: sub-agents that it waits for, and agents of its conversation. */
export function openChildren(state: SessionState): readonly string[] {
  const called = [...state.open].filter((id) => state.actions.get(id)?.action.kind === 'agent');
  const speakers = state.thread?.members ?? [];
  return [...called.map((id) => childId(state, id)), ...speakers.map(({ agent }) => speakerId(state, agent))];
}
