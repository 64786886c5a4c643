import type { MiddlewareHandler } from 'hono';
import { hookTooLarge, hookUnknown } from '../../session/outside/hook-errors.ts';
import { MAX_HOOK_BYTES } from '../../session/outside/receive-hook.ts';
import type { Mount } from '../create-server.ts';
import { withHeaders } from '../http/error-answer.ts';
import { isReading } from '../http/guard.ts';
import { bodyOf, HOOKS } from '../http/read-body.ts';
import type { AppEnv } from '../server-edges.ts';
import type { Listeners } from './listeners.ts';

/**
 * Anybody may post to a hook, so what nobody listens to, and what is too large for any hook, is refused by its head:
 * nothing of the body is kept, and the connection is closed. Stands in front of whatever reads bodies.
 */
export const refuseUnknownHooks =
  (listeners: Pick<Listeners, 'hooks'>): MiddlewareHandler<AppEnv> =>
  async (c, next) => {
    const { path, method } = c.req;
    if (!isReading(method) && path.startsWith(HOOKS)) {
      const asked = decoded(path.slice(HOOKS.length));
      const known = listeners.hooks().map(({ hook }) => hook);
      if (!known.includes(asked)) throw withHeaders(hookUnknown(asked, known), CLOSE);
      if (Number(c.env.incoming.headers['content-length'] ?? 0) > MAX_HOOK_BYTES)
        throw withHeaders(hookTooLarge(asked, MAX_HOOK_BYTES), CLOSE);
    }
    await next();
  };

const CLOSE = { connection: 'close' };

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/**
 * `POST /hooks/:name`: 202 with what came of it, 200 where it came before and nothing was started. The signature is all
 * that a sender needs; the body is taken as it came, whatever its type.
 */
export const mountHooks =
  (listeners: Pick<Listeners, 'deliver'>): Mount =>
  (app) => {
    app.post('/hooks/:name', async (c) => {
      const { incoming } = c.env;
      const headers = Object.fromEntries(
        Object.entries(incoming.headers).map(([name, value]) => [
          name,
          Array.isArray(value) ? value.join(', ') : value,
        ]),
      );
      const outcome = await listeners.deliver(c.req.param('name'), bodyOf(incoming), headers);
      if ('run' in outcome && outcome.run !== undefined) c.set('about', outcome.run);
      return c.json(outcome, outcome.kind === 'replayed' ? 200 : 202);
    });
  };
