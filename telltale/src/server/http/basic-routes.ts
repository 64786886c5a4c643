import type { ServerDeps } from '../server-edges.ts';
import type { App } from './create-app.ts';
import { isReading } from './guard.ts';
import { createReadiness } from './health.ts';
import type { StaticFiles } from './static-files.ts';

type HealthDeps = Pick<ServerDeps, 'clock' | 'runtime' | 'version'>;

/** The console's files, to anybody. */
export function serveFiles(app: App, files: StaticFiles): void {
  app.use(async (c, next) => {
    if (!isReading(c.req.method) || !files.has(c.req.path)) return next();
    const { 'accept-encoding': accept = '', 'if-none-match': match } = c.env.incoming.headers;
    const { status, headers, body } = await files.answer(c.req.path, String(accept), match);
    return new Response(body, { status, headers: { ...headers } });
  });
}

/** For probes: whether it lives, and whether requests should come here. */
export function serveHealth(app: App, deps: HealthDeps, reason: () => string | undefined): void {
  const { clock, runtime, version } = deps;
  const startedMs = clock.monotonic();
  const ready = createReadiness({ tables: runtime.store.tables, clock, reason });
  app.get('/healthz', (c) =>
    c.json({ status: 'ok', version, uptime_ms: Math.round(clock.monotonic() - startedMs) }),
  );
  app.get('/readyz', async (c) => {
    const readiness = await ready();
    return c.json(readiness, readiness.ready ? 200 : 503);
  });
}

/** For Prometheus. */
export function serveMetrics(app: App, metrics: () => string | Promise<string>): void {
  app.get('/metrics', async (c) =>
    c.body(await metrics(), 200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }),
  );
}
