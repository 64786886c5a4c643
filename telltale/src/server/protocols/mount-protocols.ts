import type { Hono } from 'hono';
import type { AppEnv, ServerDeps } from '../server-edges.ts';
import { mountAgUi } from './ag-ui/ag-ui-routes.ts';
import { createChats } from './chats.ts';
import { mountOpenAi } from './openai/openai-routes.ts';
import { mountUiMessages } from './ui-messages/ui-message-routes.ts';

/**
 * Standard front ends beside the server's own routes: AG-UI, the AI SDK's UI messages, and OpenAI's chat completions.
 * What they refuse before anything has begun is thrown as a `RuntimeError`, for the app to answer; `/v1` answers by itself,
 * in OpenAI's shape.
 */
export function mountProtocols(app: Hono<AppEnv>, deps: ServerDeps): void {
  const chats = createChats(deps);
  mountAgUi(app, deps, chats);
  mountUiMessages(app, deps, chats);
  mountOpenAi(app, deps);
}
