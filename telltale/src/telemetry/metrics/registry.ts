/** A value with its labels. Whoever counts often holds one, and adds to it directly. */
export interface Series {
  readonly labels: readonly string[];
  value: number;
}

export interface HistogramSeries {
  readonly labels: readonly string[];
  /** One more than there are bounds: the last is for what is above all of them. Not cumulative. */
  readonly counts: number[];
  sum: number;
  count: number;
}

interface MetricHead {
  /** As OpenTelemetry has it: `telltale.turns`. */
  readonly name: string;
  readonly help: string;
  /** `s`, `USD`, or what is counted: `{turn}`. */
  readonly unit: string;
  /** As OpenTelemetry has them: `gen_ai.agent.name`. */
  readonly labels: readonly string[];
}

export interface CounterMetric extends MetricHead {
  readonly kind: 'counter' | 'gauge';
  /** What a stored value is multiplied with: whole milliseconds are added up exactly, seconds are shown. */
  readonly scale: number;
  readonly series: ReadonlyMap<string, Series>;
}

export interface HistogramMetric extends MetricHead {
  readonly kind: 'histogram';
  readonly bounds: readonly number[];
  readonly series: ReadonlyMap<string, HistogramSeries>;
}

export type Metric = CounterMetric | HistogramMetric;

/** Values for the labels of a metric, in their order; an empty one is left out where the metric is shown. */
export type LabelValues = readonly string[];

export interface Counter {
  /** The series with these labels: the same one each time. */
  of(...labels: LabelValues): Series;
}

export interface Histogram {
  record(value: number, ...labels: LabelValues): void;
}

export interface Registry {
  counter(head: MetricHead & { readonly scale?: number }): Counter;
  gauge(head: MetricHead): Counter;
  histogram(head: MetricHead & { readonly bounds: readonly number[] }): Histogram;
  /** In the order in which they were made. */
  metrics(): readonly Metric[];
}

/** Distinct label sets of a metric; what comes after them is counted together, with `other` for each label. */
const MAX_SERIES = 500;
const MAX_LABEL = 128;
const OTHER = 'other';

export function createRegistry(maxSeries = MAX_SERIES): Registry {
  const metrics: Metric[] = [];

  const numbers = (kind: CounterMetric['kind'], head: MetricHead, scale: number): Counter => {
    const series = new Map<string, Series>();
    metrics.push({ ...head, kind, scale, series });
    return { of: (...labels) => seriesOf(series, labels, maxSeries, (own) => ({ labels: own, value: 0 })) };
  };

  return {
    counter: ({ scale = 1, ...head }) => numbers('counter', head, scale),
    gauge: (head) => numbers('gauge', head, 1),
    histogram({ bounds, ...head }) {
      const series = new Map<string, HistogramSeries>();
      metrics.push({ ...head, kind: 'histogram', bounds, series });
      const empty = (labels: LabelValues): HistogramSeries => ({
        labels,
        sum: 0,
        count: 0,
        counts: new Array<number>(bounds.length + 1).fill(0),
      });
      return {
        record(value, ...labels) {
          const own = seriesOf(series, labels, maxSeries, empty);
          let bucket = 0;
          while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket++;
          own.counts[bucket] = (own.counts[bucket] as number) + 1;
          own.sum += value;
          own.count++;
        },
      };
    },
    metrics: () => metrics,
  };
}

function seriesOf<Own>(
  series: Map<string, Own>,
  labels: LabelValues,
  maxSeries: number,
  make: (labels: LabelValues) => Own,
): Own {
  const values = labels.map((label) => (label.length > MAX_LABEL ? label.slice(0, MAX_LABEL) : label));
  const key = JSON.stringify(values);
  const known = series.get(key);
  if (known !== undefined) return known;
  if (series.size < maxSeries) return added(series, key, make(values));
  const others = labels.map(() => OTHER);
  const rest = JSON.stringify(others);
  return series.get(rest) ?? added(series, rest, make(others));
}

function added<Own>(series: Map<string, Own>, key: string, own: Own): Own {
  series.set(key, own);
  return own;
}
