import { ATTR, METRIC } from '../conventions.ts';

/** Seconds, as the conventions want them for calls of models. */
const CALL_SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
/** Seconds of what may also take hours: sessions wait for people. */
const WORK_SECONDS = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400];
const TOKENS = [
  1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
];
const MS = 0.001;

/** Of metrics that no convention knows: short, since people type them. */
const AGENT = 'agent';
const WORKFLOW = 'workflow';
const CALL = [ATTR.operation, ATTR.provider, ATTR.requestModel];
const STATE = [AGENT, 'field', 'state'];

export type Instruments = ReturnType<typeof createInstruments>;

/** Every metric there is. */
export function createInstruments(registry: Registry) {
  const { counter, gauge, histogram } = registry;
  return {
    sessionsStarted: counter({
      name: 'telltale.sessions.started',
      help: 'Sessions that began here.',
      unit: '{session}',
      labels: [AGENT],
    }),
    sessionsEnded: counter({
      name: 'telltale.sessions.ended',
      help: 'Sessions that ended here, by how they did.',
      unit: '{session}',
      labels: [AGENT, 'status'],
    }),
    sessionDuration: histogram({
      name: 'telltale.session.duration',
      help: 'From the start of a session to its end, waiting included.',
      unit: 's',
      labels: [AGENT, 'status'],
      bounds: WORK_SECONDS,
    }),
    turns: counter({
      name: 'telltale.turns',
      help: 'Turns that ended, by how they did.',
      unit: '{turn}',
      labels: [AGENT, 'status'],
    }),
    callDuration: histogram({
      name: METRIC.operationDuration,
      help: 'From the request of a turn to the end of its stream.',
      unit: 's',
      labels: [...CALL, ATTR.errorType],
      bounds: CALL_SECONDS,
    }),
    firstToken: histogram({
      name: METRIC.timeToFirstChunk,
      help: 'From the request of a turn to the first piece of its stream.',
      unit: 's',
      labels: CALL,
      bounds: CALL_SECONDS,
    }),
    tokens: histogram({
      name: METRIC.tokenUsage,
      help: 'Tokens of a request to a model.',
      unit: '{token}',
      labels: [...CALL, ATTR.tokenType],
      bounds: TOKENS,
    }),
    cost: counter({
      name: 'telltale.cost',
      help: 'What requests to models cost, each counted once.',
      unit: 'USD',
      labels: [AGENT, WORKFLOW],
    }),
    actions: counter({
      name: 'telltale.actions',
      help: 'Actions that ended, by what they called and how they ended.',
      unit: '{action}',
      labels: [AGENT, 'kind', 'target', 'status'],
    }),
    actionDuration: histogram({
      name: 'telltale.action.duration',
      help: 'From the first start of an action to its end, retries included.',
      unit: 's',
      labels: ['kind', 'target'],
      bounds: CALL_SECONDS,
    }),
    actionLead: histogram({
      name: 'telltale.action.lead',
      help: 'How long before the end of its model stream an action started.',
      unit: 's',
      labels: [AGENT],
      bounds: CALL_SECONDS,
    }),
    triggersFired: counter({
      name: 'telltale.triggers.fired',
      help: 'Triggers that set a workflow off.',
      unit: '{trigger}',
      labels: [AGENT, WORKFLOW],
    }),
    triggersSuppressed: counter({
      name: 'telltale.triggers.suppressed',
      help: 'Triggers that held and set nothing off, by why.',
      unit: '{trigger}',
      labels: [AGENT, WORKFLOW, 'reason'],
    }),
    runsStarted: counter({
      name: 'telltale.runs.started',
      help: 'Workflow runs that began here.',
      unit: '{run}',
      labels: [WORKFLOW],
    }),
    runsEnded: counter({
      name: 'telltale.runs.ended',
      help: 'Workflow runs that ended here, by how they did.',
      unit: '{run}',
      labels: [WORKFLOW, 'status'],
    }),
    runDuration: histogram({
      name: 'telltale.run.duration',
      help: 'From the start of a workflow run to its end, waiting included.',
      unit: 's',
      labels: [WORKFLOW, 'status'],
      bounds: WORK_SECONDS,
    }),
    steps: counter({
      name: 'telltale.steps',
      help: 'Steps of workflow runs that ended, by how they did.',
      unit: '{step}',
      labels: [WORKFLOW, 'status'],
    }),
    invokes: counter({
      name: 'telltale.artifact.invokes',
      help: 'Questions to artifacts, by whether they decided or why their fallback did.',
      unit: '{invoke}',
      labels: ['artifact', 'outcome'],
    }),
    reviewsOpen: gauge({
      name: 'telltale.reviews.open',
      help: 'Questions to people that were asked here and wait for an answer.',
      unit: '{review}',
      labels: ['asked_by'],
    }),
    faults: counter({
      name: 'telltale.faults',
      help: 'Mistakes of models that they were told of, by code.',
      unit: '{fault}',
      labels: [AGENT, 'code'],
    }),
    stateTime: counter({
      name: 'telltale.state.time',
      help: 'Time in which sessions were worked on, by value of each enum field of their metadata.',
      unit: 's',
      labels: STATE,
      scale: MS,
    }),
    stateEntries: counter({
      name: 'telltale.state.entries',
      help: 'How often an enum field of the metadata came to have a value.',
      unit: '{entry}',
      labels: STATE,
    }),
    stateTurns: counter({
      name: 'telltale.state.turns',
      help: 'Turns that began with a value and ended well.',
      unit: '{turn}',
      labels: STATE,
    }),
    stateTokens: counter({
      name: 'telltale.state.tokens',
      help: 'Tokens by the value at the start of the turn, sub-agents included.',
      unit: '{token}',
      labels: [...STATE, 'type'],
    }),
    stateCost: counter({
      name: 'telltale.state.cost',
      help: 'Cost by the value at the start of the turn, sub-agents included.',
      unit: 'USD',
      labels: STATE,
    }),
  };
}

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
