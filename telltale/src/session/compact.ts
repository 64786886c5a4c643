import type { Conversation } from '../prompt/conversation.ts';
import type { SessionContext } from './context.ts';

/** Puts a summary in the place of old turns when the context window nears its end. */
export async function compactIfNeeded(_context: SessionContext, _conversation: Conversation): Promise<void> {}
