import { type OpenAPIHono, z } from '@hono/zod-openapi';
import type { RunState } from '../../events/run-state.ts';
import type { SessionState } from '../../events/state.ts';
import { eventUnknown } from '../../session/log/event-unknown.ts';
import type { StreamInfo } from '../../store/store.ts';
import type { AppEnv, ServerDeps } from '../server-edges.ts';
import { findStream } from './find-stream.ts';
import { addOperation, answerJson } from './operation.ts';
import { eventQuery } from './schemas/events.ts';
import { byId, jsonObject, wholeNumber } from './schemas/wire.ts';
import { serveEvents } from './serve-events.ts';
import { stateJson } from './state-json.ts';

/** What the reading of one kind of stream has of its own. */
export interface StreamReads<Summary> {
  readonly kind: StreamInfo['kind'];
  /** What the document calls it: `A workflow run`. */
  readonly title: string;
  readonly summary: z.ZodType<Summary>;
  readonly summaryOf: (info: StreamInfo) => Promise<Summary>;
  readonly stateOf: (id: string, seq: number | undefined) => Promise<SessionState | RunState>;
  readonly eventPage: z.ZodType;
  /** Of the events, for the document: on a page and on the stream. */
  readonly events: string;
  readonly stream: string;
}

const atSeq = z.object({
  seq: wholeNumber(Number.MAX_SAFE_INTEGER, 'After this event; now if absent.').optional(),
});

/** One session or run: what lists show of it, its state and its events. */
export function mountStreamReads<Summary>(
  app: OpenAPIHono<AppEnv>,
  edges: ServerDeps,
  { kind, title, summary, summaryOf, stateOf, eventPage, events, stream }: StreamReads<Summary>,
): void {
  const { store } = edges.runtime;
  const path = `/${kind}s/{id}`;
  const of = { method: 'get', tag: `${kind}s`, role: 'read', params: byId } as const;
  addOperation(app, { ...of, path, id: kind, summary: title, answer: summary }, async ({ params: { id } }) =>
    summaryOf(await findStream(store, kind, id)),
  );

  addOperation(
    app,
    {
      ...of,
      path: `${path}/state`,
      id: `${kind}State`,
      query: atSeq,
      answer: jsonObject,
      summary: `The folded state of a ${kind}, now or after an event`,
    },
    async ({ c, params: { id }, query: { seq } }) => {
      const { head } = await findStream(store, kind, id);
      if (seq !== undefined && (seq < 1 || seq > head)) throw eventUnknown(id, seq, head);
      return answerJson(c, stateJson(await stateOf(id, seq)));
    },
  );

  addOperation(
    app,
    {
      ...of,
      path: `${path}/events`,
      id: `${kind}Events`,
      query: eventQuery,
      answer: eventPage,
      summary: `The events of a ${kind}, or its event stream`,
      description: events,
      stream,
    },
    async ({ c, params: { id }, query }) => serveEvents(edges, c, await findStream(store, kind, id), query),
  );
}
