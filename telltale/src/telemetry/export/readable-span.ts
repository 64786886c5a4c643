import { type HrTime, SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { SpanRecord } from '../traces/span-record.ts';

export interface SpanHome {
  readonly resource: Resource;
  readonly scope: { readonly name: string; readonly version: string };
}

/** A span as OpenTelemetry's exporters read it: made by hand, since a tracer would give it an id and a time of its own. */
export function readableSpan(span: SpanRecord, { resource, scope }: SpanHome): ReadableSpan {
  const { traceId, spanId, parentSpanId, name, error } = span;
  const context = { traceId, spanId, traceFlags: TraceFlags.SAMPLED };
  return {
    name,
    kind: span.kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL,
    spanContext: () => context,
    ...(parentSpanId === undefined
      ? {}
      : { parentSpanContext: { traceId, spanId: parentSpanId, traceFlags: TraceFlags.SAMPLED } }),
    startTime: hrTime(span.startAt),
    endTime: hrTime(span.endAt),
    duration: hrTime(span.endAt - span.startAt),
    ended: true,
    status: error === undefined ? { code: SpanStatusCode.UNSET } : { code: SpanStatusCode.ERROR, ...error },
    attributes: span.attributes as ReadableSpan['attributes'],
    links: span.links.map(({ attributes, ...to }) => ({
      context: { ...to, traceFlags: TraceFlags.SAMPLED },
      attributes: attributes as ReadableSpan['attributes'],
    })),
    events: span.events.map(({ at, ...event }) => ({
      name: event.name,
      attributes: event.attributes as ReadableSpan['attributes'],
      time: hrTime(at),
    })),
    resource,
    instrumentationScope: scope,
    droppedAttributesCount: 0,
    droppedEventsCount: span.droppedEvents,
    droppedLinksCount: 0,
  };
}

/** Seconds and nanoseconds. Events have whole milliseconds, and durations may have parts of them. */
export function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1_000);
  return [seconds, Math.round((ms - seconds * 1_000) * 1_000_000)];
}
