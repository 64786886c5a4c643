import { ROOT_CONTEXT } from '@opentelemetry/api';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  MeterProvider,
  PeriodicExportingMetricReader,
  type PushMetricExporter,
} from '@opentelemetry/sdk-metrics';
import {
  BatchSpanProcessor,
  SamplingDecision,
  type SpanExporter,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import type { Metric } from '../metrics/registry.ts';
import type { SignalSettings, TelemetrySettings } from '../read-settings.ts';
import type { SpanRecord } from '../traces/span-record.ts';
import { createMetricReadings } from './metric-data.ts';
import { readableSpan } from './readable-span.ts';

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
