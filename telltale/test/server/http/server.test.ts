import { expect, it } from 'vitest';
import type { Mount } from '../../../src/server/create-server.ts';
import { needs } from '../../../src/server/http/access.ts';
import { codeOf, openStage } from './stage.ts';

const echo: Mount = (app) => {
  app.get('/things', (c) => c.json({ caller: c.get('caller') }));
  app.post('/things', async (c) => c.json({ body: await c.req.json() }, 201));
  app.delete('/things/:id', needs('admin'), (c) => c.body(null, 204));
};

it('routes that were mounted are served, with who calls', async () => {
  const { ask, post } = await openStage({ mount: echo });
  expect(await (await ask('/things')).json()).toEqual({ caller: { name: 'local', role: 'admin' } });
  const made = await post('/things', { a: 1 });
  expect([made.status, await made.json()]).toEqual([201, { body: { a: 1 } }]);
  expect((await ask('/things/1', { method: 'DELETE' })).status).toBe(204);
  const unknown = await ask('/thngs');
  expect([unknown.status, await unknown.json()]).toMatchObject([
    404,
    { error: { code: 'route_unknown', hint: expect.stringContaining('Did you mean /things?') } },
  ]);
  const wrong = await ask('/things', { method: 'PUT' });
  expect([wrong.status, wrong.headers.get('allow'), await codeOf(wrong)]).toEqual([
    405,
    'GET, HEAD, POST',
    'method_not_allowed',
  ]);
});
