import {
  type HrTime,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  ValueType,
} from '@opentelemetry/api';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  DataPointType,
  MeterProvider,
  type MetricData,
  PeriodicExportingMetricReader,
  type PushMetricExporter,
} from '@opentelemetry/sdk-metrics';
import {
  BatchSpanProcessor,
  type ReadableSpan,
  SamplingDecision,
  type SpanExporter,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import type { HistogramSeries, LabelValues, Metric, Series } from '../metrics/instruments.ts';
import type { SignalSettings, TelemetrySettings } from '../read-settings.ts';
import type { SpanRecord } from '../traces/open-span.ts';

/** How an attempt to send went: undefined where it went well. */
export type OnSent = (signal: 'traces' | 'metrics', url: string, error: unknown) => void;

export interface ExportersDeps {
  readonly settings: TelemetrySettings;
  readonly version: string;
  readonly startedAt: number;
  readonly now: () => number;
  readonly metrics: () => Promise<readonly Metric[]>;
  readonly onSent: OnSent;
  readonly host?: string;
}

export interface Exporters {
  span(span: SpanRecord): void;
  /** Sends what is left, and stops. */
  close(): Promise<void>;
}

/** Connections at once, for each signal. */
const CONCURRENCY = 4;

/**
 * OpenTelemetry's own exporters, batches and intervals. All of its packages are loaded by this file and by what it
 * imports: it is imported where something is to be sent.
 */
export function openExporters(deps: ExportersDeps): Exporters {
  const { settings, version, onSent } = deps;
  const scope = { name: 'telltale', version };
  const resource = resourceFromAttributes({
    'telemetry.sdk.name': 'opentelemetry',
    'telemetry.sdk.language': 'nodejs',
    'service.version': version,
    ...(deps.host === undefined ? {} : { 'host.name': deps.host }),
    ...settings.resource,
  });
  const closers: (() => Promise<void>)[] = [];
  let span: Exporters['span'] = () => undefined;

  const { traces } = settings;
  if (traces !== undefined) {
    const { queue, ratio } = traces;
    const inner = new OTLPTraceExporter(exporterConfig(traces));
    const exporter: SpanExporter = {
      export: (spans, done) =>
        inner.export(spans, (result) => {
          onSent('traces', traces.url, failureOf(result));
          done(result);
        }),
      shutdown: () => inner.shutdown(),
      forceFlush: () => inner.forceFlush(),
    };
    const processor = new BatchSpanProcessor({
      exporter,
      maxQueueSize: queue.max,
      maxExportBatchSize: queue.batch,
      scheduledDelayMillis: queue.delayMs,
      exportTimeoutMillis: traces.timeoutMs + 1_000,
    });
    const sampler = new TraceIdRatioBasedSampler(ratio);
    const isSampled = ({ traceId }: SpanRecord) =>
      ratio === 1 ||
      sampler.shouldSample(ROOT_CONTEXT, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED;
    span = (record) => {
      if (isSampled(record)) processor.onEnd(readableSpan(record, { resource, scope }));
    };
    // What could not be sent has been told by `onSent`.
    closers.push(() => processor.shutdown().catch(() => undefined));
  }

  const { metrics } = settings;
  if (metrics !== undefined) {
    const inner = new OTLPMetricExporter(exporterConfig(metrics));
    const readings = createMetricReadings(deps.startedAt, metrics.temporality);
    const exporter: PushMetricExporter = {
      export: (data, done) =>
        inner.export(data, (result) => {
          onSent('metrics', metrics.url, failureOf(result));
          done(result);
        }),
      shutdown: () => inner.shutdown(),
      forceFlush: () => inner.forceFlush(),
    };
    const ours = {
      async collect() {
        const read = readings.read(await deps.metrics(), deps.now());
        // Without any the reader sends nothing.
        const scopeMetrics = read.length === 0 ? [] : [{ scope, metrics: read }];
        return { resourceMetrics: { resource, scopeMetrics }, errors: [] };
      },
    };
    const reader = new PeriodicExportingMetricReader({
      exporter,
      exportIntervalMillis: metrics.intervalMs,
      metricProducers: [ours],
      exportTimeoutMillis: Math.min(metrics.timeoutMs + 1_000, metrics.intervalMs),
    });
    const provider = new MeterProvider({ resource, readers: [reader] });
    closers.push(() => provider.shutdown().catch(() => undefined));
  }

  return {
    span: (record) => span(record),
    close: async () => {
      await Promise.all(closers.map((close) => close()));
    },
  };
}

/**
 * All that the exporters would else look for in the environment of the process. Two things they add from there in any
 * case: OTEL_EXPORTER_OTLP_HEADERS, and certificates.
 */
const exporterConfig = ({ url, headers, timeoutMs, gzip }: SignalSettings) => ({
  url,
  headers: { ...headers },
  timeoutMillis: timeoutMs,
  concurrencyLimit: CONCURRENCY,
  compression: (gzip ? 'gzip' : 'none') as never,
});

const failureOf = (result: { readonly code: number; readonly error?: Error }): unknown =>
  result.code === 0 ? undefined : (result.error ?? new Error('The collector did not take it.'));

export interface MetricReadings {
  /** All metrics as they are at `now`. */
  read(metrics: readonly Metric[], now: number): MetricData[];
}

interface ExportersBefore {
  readonly value: number;
  readonly counts: readonly number[];
}

/**
 * The registry in the form of OpenTelemetry's exporters. `delta`: only what came since the last reading, for collectors
 * that want it so; gauges are as they are in either case.
 */
export function createMetricReadings(startedAt: number, temporality: 'cumulative' | 'delta'): MetricReadings {
  const isDelta = temporality === 'delta';
  const before = new WeakMap<Series | HistogramSeries, ExportersBefore>();
  let since = startedAt;

  const lessBefore = (series: Series | HistogramSeries, value: number, counts: readonly number[]) => {
    const last = isDelta ? before.get(series) : undefined;
    if (isDelta) before.set(series, { value, counts: [...counts] });
    return {
      value: value - (last?.value ?? 0),
      counts: counts.map((count, index) => count - (last?.counts[index] ?? 0)),
    };
  };

  const dataOf = (metric: Metric, startTime: HrTime, endTime: HrTime): MetricData => {
    const { name, help, unit } = metric;
    const descriptor = { name, description: help, unit, valueType: ValueType.DOUBLE };
    const aggregationTemporality =
      isDelta && metric.kind !== 'gauge' ? AggregationTemporality.DELTA : AggregationTemporality.CUMULATIVE;
    const place = (labels: LabelValues) => ({ startTime, endTime, attributes: attributesOf(metric, labels) });
    if (metric.kind === 'histogram')
      return {
        descriptor,
        aggregationTemporality,
        dataPointType: DataPointType.HISTOGRAM,
        dataPoints: [...metric.series.values()].map((series) => {
          const { value: sum, counts } = lessBefore(series, series.sum, series.counts);
          const count = counts.reduce((total, each) => total + each, 0);
          const buckets = { boundaries: [...metric.bounds], counts };
          return { ...place(series.labels), value: { buckets, sum, count } };
        }),
      };
    return {
      descriptor,
      aggregationTemporality,
      dataPointType: DataPointType.SUM,
      isMonotonic: metric.kind === 'counter',
      dataPoints: [...metric.series.values()].map((series) => {
        const value = metric.kind === 'gauge' ? series.value : lessBefore(series, series.value, []).value;
        return { ...place(series.labels), value: value * metric.scale };
      }),
    };
  };

  return {
    read(metrics, now) {
      const [startTime, endTime] = [hrTime(since), hrTime(now)];
      if (isDelta) since = now;
      return metrics
        .filter(({ series }) => series.size > 0)
        .map((metric) => dataOf(metric, startTime, endTime));
    },
  };
}

const attributesOf = ({ labels }: Metric, values: LabelValues): Record<string, string> =>
  Object.fromEntries(
    labels.flatMap((label, index) => {
      const value = values[index] ?? '';
      return value === '' ? [] : [[label, value]];
    }),
  );

export interface SpanHome {
  readonly resource: Resource;
  readonly scope: { readonly name: string; readonly version: string };
}

/** A span as OpenTelemetry's exporters read it: made by hand, since a tracer would give it an id and a time of its own. */
function readableSpan(span: SpanRecord, { resource, scope }: SpanHome): ReadableSpan {
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
function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1_000);
  return [seconds, Math.round((ms - seconds * 1_000) * 1_000_000)];
}
