import type { Context, Hono } from 'hono';
import type { AppEnv, ServerDeps } from '../../server-edges.ts';
import type { Chats } from '../chats.ts';
import { chooseAgent } from '../choose-agent.ts';
import type { Begun } from '../current-exchanges.ts';
import { readObject } from '../read-fields.ts';
import { serveExchange } from '../serve-exchange.ts';
import { callId, createUiFold } from './create-ui-fold.ts';
import { type ChatRequest, readChatRequest } from './read-chat-request.ts';

const HEADERS = { 'x-vercel-ai-ui-message-stream': 'v1' } as const;
const LAST = '[DONE]';

/**
 * `POST /chat` and `/chat/:agent`: the AI SDK's UI message stream, for `useChat`. A chat is a session. The stream of an
 * exchange that goes on without its client can be had again, from its beginning: `GET …/:id/stream`.
 */
export function mountUiMessages(app: Hono<AppEnv>, deps: ServerDeps, chats: Chats): void {
  const chat = async (c: Context<AppEnv>, named: string | undefined): Promise<Response> => {
    const { by } = c.get('caller');
    const request = readChatRequest(await readObject(c), by);
    const agent = chooseAgent(
      deps.catalog,
      named ?? request.agent,
      'in the path (/chat/NAME) or as "agent" in the body',
    );
    const { id: thread, said, user, onClose } = request;
    const begun = await chats.begin({
      agent,
      thread,
      said,
      by,
      user,
      replays: onClose === 'continue' && said.kind === 'message',
    });
    const onGone = () => {
      if (onClose === 'stop') chats.breakOff(begun.exchange);
    };
    return serve(c, begun, agent.manifest.name, request, onGone);
  };
  const join = async (c: Context<AppEnv>, thread: string, agent?: string): Promise<Response> => {
    const found = await chats.current(thread, agent);
    // 204: there is nothing to go on with.
    return found === undefined
      ? c.body(null, 204)
      : serve(c, found.begun, found.agent, undefined, () => undefined);
  };
  const serve = (
    c: Context<AppEnv>,
    begun: Begun,
    agent: string,
    request: ChatRequest | undefined,
    onGone: () => void,
  ): Response => {
    const { exchange, metadata, reviews } = begun;
    const session = exchange.session.id;
    const goesOn = request?.goesOn;
    const open = begun.open.filter((action) => goesOn?.calls.includes(callId(session, action)) === true);
    const fold = createUiFold({
      agent,
      session,
      metadata,
      exchange: exchange.id,
      messageId: goesOn?.message ?? exchange.id,
      joins: goesOn === undefined ? undefined : { open, reviews },
    });
    const options = { headers: HEADERS, last: LAST, onGone };
    return serveExchange(c, deps, exchange, fold, options) ?? c.body(null, 204);
  };
  app.post('/chat', (c) => chat(c, undefined));
  app.post('/chat/:agent', (c) => chat(c, c.req.param('agent')));
  app.get('/chat/:id/stream', (c) => join(c, c.req.param('id')));
  app.get('/chat/:agent/:id/stream', (c) => join(c, c.req.param('id'), c.req.param('agent')));
}
