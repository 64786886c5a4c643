import type { JsonObject } from '../../kernel/json.ts';
import type { Store } from '../../store/store.ts';
import type { SessionLink } from '../../workflows/session-link.ts';
import { type AskMessage, RUN_ASKS } from './run-messages.ts';

export interface LinkDeps {
  readonly store: Store;
  readonly run: string;
  readonly workflow: string;
  readonly session: string;
  readonly readAgent: () => Promise<JsonObject>;
}

/** How a session ends where nobody goes on with it: its inbox is read no more. */
const OVER: ReadonlySet<string> = new Set(['completed', 'cancelled']);

export function createSessionLink({ store, run, workflow, session, readAgent }: LinkDeps): SessionLink {
  let agent: Promise<JsonObject> | undefined;
  return {
    session,
    agent() {
      agent ??= readAgent();
      return agent;
    },
    async ask(key, act, cause) {
      const info = await store.info(session);
      if (info === undefined || OVER.has(info.status)) return false;
      const message: AskMessage = { run, workflow, key, act, cause };
      await store.send(session, { kind: RUN_ASKS, from: run, body: JSON.parse(JSON.stringify(message)) });
      return true;
    },
  };
}
