import type { InvokeRecord } from '../../kernel/invoke-record.ts';
import { type OpenSpan, openSpan } from './open-span.ts';
import { eventSpanId } from './span-ids.ts';

/** A question to an artifact, whose event comes with the answer. */
export const invokeSpan = (
  stream: string,
  event: InvokeRecord & { readonly seq: number; readonly at: number },
  parentSpanId: string,
): OpenSpan =>
  openSpan({
    spanId: eventSpanId(stream, event.seq),
    parentSpanId,
    name: `invoke_artifact ${event.artifact}.${event.method}`,
    startAt: event.at - event.ms,
    attributes: {
      'telltale.artifact': event.artifact,
      'telltale.artifact.version': event.version,
      'telltale.method': event.method,
      'telltale.where': event.where,
      'telltale.cached': event.cached,
      'telltale.fallback': event.fallback?.reason,
      'telltale.charged': event.cost,
      'telltale.seq': event.seq,
    },
  });
