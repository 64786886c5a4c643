import type { OpenAPIHono } from '@hono/zod-openapi';
import type { AppEnv, ServerDeps } from '../server-edges.ts';
import { mountAgents } from './agents.ts';
import { mountArtifacts } from './artifacts.ts';
import { mountDaemon } from './daemon.ts';
import { mountFleet } from './fleet.ts';
import { mountMemory } from './memory.ts';
import { mountOpenApi } from './openapi.ts';
import { Quarantines } from './quarantines.ts';
import { mountReviews } from './reviews.ts';
import { mountRuns } from './runs.ts';
import { mountSessionActions } from './session-actions.ts';
import { mountSessions } from './sessions.ts';
import { mountStreams } from './streams.ts';
import { createSummaries } from './summaries.ts';

/**
 * Puts all JSON routes and the document of them onto an app, whose frame has said who calls (`c.get('caller')`) and
 * answers what they throw: `RuntimeError`s, always.
 */
export function mountRoutes(app: OpenAPIHono<AppEnv>, edges: ServerDeps): void {
  const quarantines = new Quarantines(edges.runtime, edges.clock);
  const summaries = createSummaries(edges.runtime.store, quarantines);
  mountDaemon(app, edges);
  mountAgents(app, edges);
  mountSessions(app, edges, summaries, quarantines);
  mountSessionActions(app, edges, summaries);
  mountRuns(app, edges, summaries, quarantines);
  mountStreams(app, edges);
  mountReviews(app, edges);
  mountArtifacts(app, edges);
  mountMemory(app, edges);
  mountFleet(app, edges);
  mountOpenApi(app, edges);
}
