import type { CounterMetric, HistogramMetric, LabelValues, Metric } from './registry.ts';

/** Units that belong to a name; what is counted (`{turn}`) does not. */
const SUFFIXES: ReadonlyMap<string, string> = new Map([
  ['s', '_seconds'],
  ['USD', '_usd'],
]);

/** Prometheus' text format, version 0.0.4: names as OpenTelemetry's own exporter makes them. */
export function prometheusText(metrics: readonly Metric[]): string {
  return metrics
    .filter(({ series }) => series.size > 0)
    .map((metric) => (metric.kind === 'histogram' ? histogramText(metric) : counterText(metric)))
    .join('');
}

function counterText(metric: CounterMetric): string {
  const name = `${nameOf(metric)}${metric.kind === 'counter' ? '_total' : ''}`;
  let text = headText(metric, name);
  for (const { labels, value } of metric.series.values())
    text += `${name}${labelText(pairs(metric, labels))} ${numberText(value * metric.scale)}\n`;
  return text;
}

function histogramText(metric: HistogramMetric): string {
  const name = nameOf(metric);
  let text = headText(metric, name);
  for (const { labels, counts, sum, count } of metric.series.values()) {
    const own = pairs(metric, labels);
    let below = 0;
    for (const [index, bound] of metric.bounds.entries()) {
      below += counts[index] ?? 0;
      text += `${name}_bucket${labelText([...own, `le="${numberText(bound)}"`])} ${below}\n`;
    }
    text += `${name}_bucket${labelText([...own, 'le="+Inf"'])} ${count}\n`;
    text += `${name}_sum${labelText(own)} ${numberText(sum)}\n`;
    text += `${name}_count${labelText(own)} ${count}\n`;
  }
  return text;
}

const headText = ({ kind, help }: Metric, name: string): string =>
  `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${kind}\n`;

const nameOf = ({ name, unit }: Metric): string => `${plain(name)}${SUFFIXES.get(unit) ?? ''}`;

/** Names that OpenTelemetry writes with dots. */
const plain = (name: string): string => name.replaceAll(/[^A-Za-z0-9_]/g, '_');

const pairs = ({ labels }: Metric, values: LabelValues): readonly string[] =>
  labels.flatMap((label, index) => {
    const value = values[index] ?? '';
    return value === '' ? [] : [`${plain(label)}="${escaped(value)}"`];
  });

const labelText = (own: readonly string[]): string => (own.length === 0 ? '' : `{${own.join(',')}}`);

const escaped = (value: string): string =>
  value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');

function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
}
