import type { Tables } from '../../store/store.ts';

/** Which session a conversation of a front end is: by agent and the id that the client gave it. */
export interface ThreadTable {
  find(agent: string, thread: string): Promise<string | undefined>;
  set(agent: string, thread: string, session: string): Promise<void>;
}

const TABLE = 'server.threads';

export const createThreadTable = (tables: Pick<Tables, 'get' | 'set'>): ThreadTable => ({
  async find(agent, thread) {
    const session = await tables.get(TABLE, threadKey(agent, thread));
    return typeof session === 'string' ? session : undefined;
  },
  set: (agent, thread, session) => tables.set(TABLE, threadKey(agent, thread), session),
});

/** An agent's name holds no slash. */
export const threadKey = (agent: string, thread: string): string => `${agent}/${thread}`;
