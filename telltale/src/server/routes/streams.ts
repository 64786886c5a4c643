import { type OpenAPIHono, z } from '@hono/zod-openapi';
import type { AppEnv, ServerDeps } from '../server-edges.ts';
import { addOperation } from './operation.ts';
import { whyChain } from './schemas/events.ts';
import { wholeNumber } from './schemas/wire.ts';
import { handOver } from './serve-events.ts';

const tag = 'events';

/** What is asked of any stream, and of all. */
export function mountStreams(app: OpenAPIHono<AppEnv>, { runtime, streams, onError }: ServerDeps): void {
  addOperation(
    app,
    {
      method: 'get',
      path: '/streams/{stream}/events/{seq}/why',
      id: 'why',
      tag,
      role: 'read',
      summary: 'Why an event of a session or run happened',
      description: 'The events that led to it, across streams.',
      params: z.object({
        stream: z.string().openapi({ description: 'The id of a session or run.' }),
        seq: wholeNumber(Number.MAX_SAFE_INTEGER, 'Which of its events.', 1),
      }),
      answer: whyChain,
    },
    async ({ params: { stream, seq } }) => {
      const { events, lost } = await runtime.why(stream, seq);
      return { events, ...(lost === undefined ? {} : { lost: { stream: lost.stream, seq: lost.seq } }) };
    },
  );

  addOperation(
    app,
    {
      method: 'get',
      path: '/events',
      id: 'followAll',
      tag,
      role: 'read',
      summary: 'What changes any list, as it happens: the headlines of all sessions and runs',
      stream: '`data` is an event of a session or run as JSON: one that summaries are folded from.',
    },
    ({ c }) => handOver(c, onError, streams.headlines),
  );
}
