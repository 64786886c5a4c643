import { type HrTime, ValueType } from '@opentelemetry/api';
import { AggregationTemporality, DataPointType, type MetricData } from '@opentelemetry/sdk-metrics';
import type { HistogramSeries, LabelValues, Metric, Series } from '../metrics/registry.ts';
import { hrTime } from './readable-span.ts';

export interface MetricReadings {
  /** All metrics as they are at `now`. */
  read(metrics: readonly Metric[], now: number): MetricData[];
}

interface Before {
  readonly value: number;
  readonly counts: readonly number[];
}

/**
 * The registry in the form of OpenTelemetry's exporters. `delta`: only what came since the last reading, for collectors
 * that want it so; gauges are as they are in either case.
 */
export function createMetricReadings(startedAt: number, temporality: 'cumulative' | 'delta'): MetricReadings {
  const isDelta = temporality === 'delta';
  const before = new WeakMap<Series | HistogramSeries, Before>();
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
