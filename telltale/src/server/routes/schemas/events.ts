import { z } from '@hono/zod-openapi';
import type { WhyChain } from '../../../client/api.ts';
import type { SessionEvent } from '../../../events/event.ts';
import type { RunEvent } from '../../../events/run-event.ts';
import { answered, count, pageOf, text, time, wholeNumber } from './wire.ts';

/** Events that one page holds at the most. */
export const MAX_EVENTS = 10_000;

const cause = z
  .object({ stream: text, seq: count, depth: count })
  .openapi({ description: 'The event that brought it about; `seq` is 0 where that is on no log.' });

const head = { seq: z.int().positive(), at: time, type: text, cause };

const sessionEvent = z.looseObject({ ...head, session: text, turn: count }).openapi('SessionEvent', {
  description: 'An event of a session; by `type` it has more keys.',
}) as unknown as z.ZodType<SessionEvent>;

const runEvent = z.looseObject({ ...head, run: text }).openapi('RunEvent', {
  description: 'An event of a workflow run; by `type` it has more keys.',
}) as unknown as z.ZodType<RunEvent>;

export const sessionEventPage = pageOf('SessionEventPage', sessionEvent);
export const runEventPage = pageOf('RunEventPage', runEvent);

export const eventQuery = z.object({
  after: wholeNumber(
    Number.MAX_SAFE_INTEGER,
    'The seq of the last event that is known; 0 for all.',
  ).optional(),
  limit: wholeNumber(MAX_EVENTS, 'Events at the most; 1,000 by default.', 1).optional(),
  live: z
    .enum(['0', '1'])
    .optional()
    .openapi({ description: 'As a stream: 0 leaves deltas and progress out.' }),
});

export const whyChain = answered<WhyChain>('WhyChain', {
  events: z
    .array(z.union([sessionEvent, runEvent]))
    .openapi({ description: 'From the event that was asked for to the first cause.' }),
  lost: z
    .object({ stream: text, seq: count })
    .optional()
    .openapi({ description: 'A cause that is on no log any more.' }),
});
