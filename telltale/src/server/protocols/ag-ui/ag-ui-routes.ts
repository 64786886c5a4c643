import type { Context, Hono } from 'hono';
import type { AppEnv, ServerDeps } from '../../server-edges.ts';
import type { Chats } from '../chats.ts';
import { chooseAgent } from '../choose-agent.ts';
import { readObject } from '../read-fields.ts';
import { serveExchange } from '../serve-exchange.ts';
import { createAgUiFold } from './create-ag-ui-fold.ts';
import { readRunInput } from './read-run-input.ts';

/** `POST /ag-ui/:agent`: AG-UI 1.0 over server-sent events. A thread is a chat: its runs are exchanges of one session. */
export function mountAgUi(app: Hono<AppEnv>, deps: ServerDeps, chats: Chats): void {
  const run = async (c: Context<AppEnv>, named: string | undefined): Promise<Response> => {
    const { by } = c.get('caller');
    const input = readRunInput(await readObject(c), by);
    const agent = chooseAgent(
      deps.catalog,
      named ?? input.agent,
      'in the path (/ag-ui/NAME) or as forwardedProps.agent',
    );
    const { threadId, runId, said, user, notes } = input;
    const begun = await chats.begin({ agent, thread: threadId, said, by, user, replays: false });
    const { exchange } = begun;
    const fold = createAgUiFold({
      threadId,
      runId,
      notes,
      agent: agent.manifest.name,
      model: agent.manifest.model ?? agent.manifest.name,
      session: exchange.session.id,
      exchange: exchange.id,
      metadata: begun.metadata,
      joins: said.kind === 'answers' ? { open: begun.open } : undefined,
    });
    const onGone = () => {
      if (input.onClose === 'stop') chats.breakOff(exchange);
    };
    return serveExchange(c, deps, exchange, fold, { onGone }) ?? c.body(null, 204);
  };
  app.post('/ag-ui', (c) => run(c, undefined));
  app.post('/ag-ui/:agent', (c) => run(c, c.req.param('agent')));
}
