import type { Mount } from '../create-server.ts';
import { bodyOf } from '../http/read-body.ts';
import type { Listeners } from './listeners.ts';

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
