import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { RuntimeError } from '../../lib/errors.ts';
import { checkRole } from '../http/access.ts';
import type { AppEnv, ServerDeps } from '../server-edges.ts';
import { addOperation, numberPlace, pageOf, pageQuery, textPlace } from './operation.ts';
import {
  auditPage,
  createdToken,
  createToken,
  NOTIFICATION_STATUSES,
  notification,
  notificationPage,
  tokenPage,
  whoami,
} from './schemas/daemon.ts';
import { byId } from './schemas/wire.ts';

const tag = 'daemon';

/** The server itself: the caller's identity, notifications, the audit, and tokens. */
export function mountDaemon(app: OpenAPIHono<AppEnv>, edges: ServerDeps): void {
  const { runtime, notifications, audit, tokens, version, dev } = edges;
  addOperation(
    app,
    {
      method: 'get',
      path: '/whoami',
      id: 'whoami',
      tag,
      role: 'read',
      answer: whoami,
      summary: 'Who the token belongs to, and what is served',
    },
    ({ caller: { name, by, role } }) => ({ name, by, role, version, dev, store: runtime.store.location }),
  );

  addOperation(
    app,
    {
      method: 'get',
      path: '/notifications',
      id: 'notifications',
      tag,
      role: 'read',
      summary: 'Notifications, newest first',
      answer: notificationPage,
      query: z.object({ ...pageQuery, status: z.enum(NOTIFICATION_STATUSES).optional() }),
    },
    ({ query: { status, ...asked } }) =>
      pageOf(
        asked,
        textPlace,
        (behind, limit) =>
          notifications.list({
            limit,
            ...(status === undefined ? {} : { status }),
            ...(behind === undefined ? {} : { before: behind[0] }),
          }),
        ({ id }) => [id] as [string],
      ),
  );

  addOperation(
    app,
    {
      method: 'post',
      path: '/notifications/{id}/retry',
      id: 'retryNotification',
      tag,
      role: 'run',
      summary: 'Send a notification again that was given up',
      params: byId,
      answer: notification,
    },
    ({ c, params: { id } }) => {
      c.set('about', id);
      return notifications.retry(id);
    },
  );

  addOperation(
    app,
    {
      method: 'get',
      path: '/audit',
      id: 'audit',
      tag,
      role: 'admin',
      answer: auditPage,
      summary: 'Who did what, newest first',
      query: z.object(pageQuery),
    },
    ({ query }) =>
      pageOf(
        query,
        numberPlace,
        (behind, limit) => audit.list({ limit, ...(behind === undefined ? {} : { before: behind[0] }) }),
        ({ n }) => [n] as [number],
      ),
  );

  addOperation(
    app,
    {
      method: 'get',
      path: '/tokens',
      id: 'tokens',
      tag,
      role: 'admin',
      answer: tokenPage,
      summary: 'Tokens by name; never their secrets',
    },
    async () => ({ items: await tokens.list() }),
  );

  addOperation(
    app,
    {
      method: 'post',
      path: '/tokens',
      id: 'createToken',
      tag,
      role: 'admin',
      summary: 'Create a token',
      body: createToken,
      status: 201,
      answer: createdToken,
    },
    async ({ c, caller, body: { name, role } }) => {
      c.set('about', name);
      c.set('isSecret', true);
      // Nobody can create a token with a higher role than their own, whatever role this route requires.
      checkRole(caller, role);
      const { token, info } = await tokens.create(name, role, caller.by);
      c.header('location', `/tokens/${name}`);
      return { ...info, token };
    },
  );

  addOperation(
    app,
    {
      method: 'delete',
      path: '/tokens/{name}',
      id: 'revokeToken',
      tag,
      role: 'admin',
      status: 204,
      summary: 'Revoke a token',
      params: z.object({ name: z.string() }),
    },
    async ({ c, params: { name } }) => {
      c.set('about', name);
      if (!(await tokens.revoke(name))) throw tokenUnknown(name);
    },
  );
}

const tokenUnknown = (name: string) =>
  new RuntimeError('token_unknown', `No token is named "${name.slice(0, 100)}".`, {
    hint: 'List them: GET /tokens',
  });
