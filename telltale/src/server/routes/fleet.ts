import type { OpenAPIHono } from '@hono/zod-openapi';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { codeIn, type Fleet, type LaidAside } from '../../session/fleet/fleet.ts';
import type { AppEnv, ServerDeps } from '../server-edges.ts';
import { addOperation } from './operation.ts';
import { fleetInfo } from './schemas/fleet.ts';
import { byId } from './schemas/wire.ts';

const tag = 'fleet';

/** The processes that share the store. */
export function mountFleet(app: OpenAPIHono<AppEnv>, { runtime }: ServerDeps): void {
  const mine = (): Fleet => {
    if (runtime.fleet === undefined) throw notShared(runtime.store.location);
    return runtime.fleet;
  };
  addOperation(
    app,
    {
      method: 'get',
      path: '/fleet',
      id: 'fleet',
      tag,
      role: 'read',
      answer: fleetInfo,
      summary: 'The workers of the fleet, what each holds, and what waits for one',
    },
    async () => {
      const { fleet, workers, queue, laidAside } = await mine().status();
      return {
        fleet,
        queue,
        workers: workers.map(({ id: _, ...worker }) => worker),
        laidAside: laidAside.map(shownAside),
      };
    },
  );

  addOperation(
    app,
    {
      method: 'post',
      path: '/fleet/{id}/retry',
      id: 'retryStream',
      tag,
      role: 'admin',
      status: 202,
      summary: 'Have a session or run tried again that no worker could go on with',
      params: byId,
    },
    async ({ c, params: { id } }) => {
      c.set('about', id);
      await mine().retry(id);
    },
  );
}

const shownAside = ({ kind, stream, at, why }: LaidAside) => {
  const code = codeIn(why);
  return { kind, stream, at, ...(code === undefined ? {} : { code }), why };
};

const notShared = (location: string) =>
  new RuntimeError('not_shared', `${location} is a store of a single machine, so it has no fleet.`, {
    hint: 'Serve a PostgreSQL database to have one: telltale serve --store postgres://…',
  });
