import { type Clock, within } from '../lib/clock.ts';
import type { RuntimeError } from '../lib/errors.ts';
import type { EventOf, SessionEvent } from '../log/event.ts';
import type { RunEvent, RunEventOf } from '../log/run-event.ts';
import {
  type CounterMetric,
  createInstruments,
  createRegistry,
  type HistogramMetric,
  type Instruments,
  type LabelValues,
  type Metric,
} from './metrics/instruments.ts';
import {
  createMeteredStreams,
  createSessionMeter,
  endOf,
  type MeteredReviews,
  type MeteredStream,
  NOT_TOLD,
} from './metrics/session-meter.ts';
import { createOpenStreams } from './open-streams.ts';
import { createOutbox } from './outbox.ts';
import { foldBroken, readSettings, type SettingsEnv } from './read-settings.ts';
import { rootIn, type SpanFoldDeps, type SpanFoldOptions, type TracedStream } from './traces/open-span.ts';
import { createRunSpans } from './traces/run-spans.ts';
import { createSessionSpans } from './traces/session-spans.ts';

export interface TelemetryOptions {
  /** Where the OTEL_ variables are. */
  readonly env: SettingsEnv;
  /** Telltale's own. */
  readonly version: string;
  readonly clock: Clock;
  /** Told in one line, and not again and again: what is set and cannot be done, and a collector that is away. */
  readonly onError: (error: RuntimeError) => void;
  /** The name of the machine, for `host.name`. */
  readonly host?: string;
  /**
   * The first event of a session or run, read from its log when one is taken up that began elsewhere: without it spans of
   * such a one have neither the agent's name nor its start, and its metrics say `unknown`.
   */
  readonly recall?: Recall;
  /**
   * Those of these reviews that nobody has answered, as the store has it. Without it those that another process answers
   * stay open in the metrics of the one that asked.
   */
  readonly stillOpen?: StillOpen;
}

/**
 * Makes metrics of events, and spans where they are wanted. No package of OpenTelemetry is loaded where nothing is to be
 * sent; an event then costs a fifth of a microsecond, one of an action less than one, and up to three with spans.
 */
export function createTelemetry(options: TelemetryOptions): Telemetry {
  const { env, clock, onError, recall } = options;
  const settings = readSettings(env);
  for (const problem of settings.problems) onError(problem);
  const registry = createRegistry();
  const meters = createInstruments(registry);
  const sessions = createSessionMeter(meters);
  const runs = createRunMeter(meters);
  const refresh = createReviewLook([sessions.reviews, runs.reviews], options.stillOpen);
  const metrics = async () => {
    await refresh();
    return registry.metrics();
  };
  const outbox = createOutbox({ ...options, settings, metrics });
  const spans =
    settings.traces === undefined
      ? undefined
      : createSpanFold({ emit: outbox.span, contents: settings.contents });
  let isBroken = false;

  const take = (event: SessionEvent | RunEvent) => {
    if ('session' in event) {
      sessions.add(event);
      spans?.session(event);
      if (event.type === 'session.started') runs.called(event.parent);
    } else {
      runs.add(event);
      spans?.run(event);
    }
  };

  const recaller =
    recall === undefined
      ? undefined
      : createRecaller({
          recall,
          isKnown: (stream) => sessions.knows(stream) || runs.knows(stream),
          takeUp(first) {
            if ('session' in first) {
              if (first.type !== 'session.started') return;
              sessions.recall(first);
              spans?.session(first);
            } else if (first.type === 'workflow.started') {
              runs.recall(first);
              spans?.run(first);
            }
          },
          take: (event) => guarded(event),
        });

  const guarded = (event: SessionEvent | RunEvent) => {
    try {
      take(event);
    } catch (thrown) {
      if (!isBroken) onError(foldBroken(thrown));
      isBroken = true;
    }
  };

  return {
    observe(event) {
      if (recaller?.holds(event) !== true) guarded(event);
    },
    refresh,
    prometheus: () => prometheusText(registry.metrics()),
    async close() {
      await recaller?.settled(clock);
      await outbox.close();
    },
  };
}

/** Spans and metrics that are made of the events of the log. */
export interface Telemetry {
  /** Called with every event that is committed here. Never throws. */
  observe(event: SessionEvent | RunEvent): void;
  /** Looks up what other processes may have done meanwhile: before metrics are shown. Never rejects. */
  refresh(): Promise<void>;
  /** The metrics in Prometheus' text format. */
  prometheus(): string;
  /** Sends what has not been sent yet. */
  close(): Promise<void>;
}

/** Those of these reviews that are open; others may be among them. */
export type StillOpen = (reviews: readonly string[]) => Promise<ReadonlySet<string>>;

/**
 * Takes out of the count what others have answered. Nothing is asked where nothing is open, and those who ask at the same
 * time share one look. Where it fails the figures stay: whoever works on the store says what is wrong with it.
 */
function createReviewLook(
  meters: readonly MeteredReviews[],
  stillOpen: StillOpen | undefined,
): () => Promise<void> {
  let looking: Promise<void> | undefined;
  const look = async (asked: readonly string[], find: StillOpen): Promise<void> => {
    const open = await find(asked);
    const gone = asked.filter((review) => !open.has(review));
    for (const meter of meters) meter.answeredElsewhere(gone);
  };
  return async () => {
    const asked = meters.flatMap((meter) => meter.asked());
    if (stillOpen === undefined || asked.length === 0) return;
    looking ??= look(asked, stillOpen)
      .catch(() => undefined)
      .finally(() => {
        looking = undefined;
      });
    await looking;
  };
}

/** Makes spans of events. Pure: the same events give the same spans, ids and all. */
export interface SpanFold {
  session(event: SessionEvent): void;
  run(event: RunEvent): void;
}

/** Sessions, runs, turns, actions and steps that are open; those of the oldest streams are dropped beyond. */
const MAX_OPEN_SPANS = 100_000;

export function createSpanFold(options: SpanFoldOptions): SpanFold {
  const streams = createOpenStreams<TracedStream>(MAX_OPEN_SPANS);
  const deps: SpanFoldDeps = {
    ...options,
    streams,
    rootOf: (stream) => streams.get(stream)?.root ?? rootIn(stream),
  };
  return {
    session: createSessionSpans(deps),
    run: createRunSpans(deps),
  };
}

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

type AnyEvent = SessionEvent | RunEvent;

/** The first event of a session or run, as its log has it; undefined where there is none. */
export type Recall = (stream: string) => Promise<AnyEvent | undefined>;

export interface RecallerDeps {
  readonly recall: Recall;
  isKnown(stream: string): boolean;
  takeUp(first: AnyEvent): void;
  take(event: AnyEvent): void;
}

export interface Recaller {
  /** Whether the event is kept back until it is known how its stream began. */
  holds(event: AnyEvent): boolean;
  /** What is kept back has been taken, or it is too late to wait for it. */
  settled(clock: Clock): Promise<void>;
}

/** Events of one stream that wait for its first; where there are more, they are taken without it. */
const MAX_HELD = 1_000;
const SETTLE_MS = 500;

export function createRecaller({ recall, isKnown, takeUp, take }: RecallerDeps): Recaller {
  const held = new Map<string, AnyEvent[]>();
  const asked = new Set<Promise<void>>();

  const release = (stream: string, first: AnyEvent | undefined) => {
    const events = held.get(stream);
    if (events === undefined) return;
    held.delete(stream);
    if (first !== undefined) takeUp(first);
    for (const event of events) take(event);
  };

  const ask = (stream: string) => {
    const answer: Promise<void> = recall(stream)
      // A log that cannot be read is told of by whoever works on it.
      .catch(() => undefined)
      .then((first) => release(stream, first))
      .finally(() => asked.delete(answer));
    asked.add(answer);
  };

  return {
    holds(event) {
      const isBack = event.type === 'session.resumed' || event.type === 'workflow.resumed';
      if (!isBack && held.size === 0) return false;
      const stream = 'session' in event ? event.session : event.run;
      const events = held.get(stream);
      if (events !== undefined) {
        events.push(event);
        if (events.length > MAX_HELD) release(stream, undefined);
        return true;
      }
      if (!isBack || isKnown(stream)) return false;
      held.set(stream, [event]);
      ask(stream);
      return true;
    },
    async settled(clock) {
      await within(clock, SETTLE_MS, Promise.all(asked));
      for (const stream of [...held.keys()]) release(stream, undefined);
    },
  };
}

interface MeteredRun extends MeteredStream {
  readonly workflow: string;
  /** Steps whose agents are sessions of their own: what they cost is counted there. */
  readonly agentSteps: Set<string>;
}

export interface RunMeter {
  add(event: RunEvent): void;
  /** A session began that a step called. */
  called(parent: EventOf<'session.started'>['parent']): void;
  recall(first: RunEventOf<'workflow.started'>): void;
  knows(run: string): boolean;
  readonly reviews: MeteredReviews;
}

function createRunMeter(meters: Instruments): RunMeter {
  const runs = createMeteredStreams<MeteredRun>({
    open: meters.reviewsOpen.of('run'),
    ended: meters.runsEnded,
    duration: meters.runDuration,
  });

  const begin = (run: string, first: RunEventOf<'workflow.started'> | undefined) =>
    runs.open(run, {
      size: 1,
      reviews: new Set(),
      agentSteps: new Set(),
      workflow: first?.workflow ?? NOT_TOLD,
      startedAt: first?.at,
    });

  const fold = (own: MeteredRun, event: RunEvent): void => {
    switch (event.type) {
      case 'workflow.completed':
      case 'workflow.failed':
      case 'workflow.cancelled':
        runs.end(event.run, own, { of: own.workflow, at: event.at, status: endOf(event.type) });
        break;
      case 'step.completed':
      case 'step.failed':
      case 'step.skipped':
      case 'step.cancelled':
        meters.steps.of(own.workflow, endOf(event.type)).value++;
        break;
      case 'model.used':
        if (event.worker !== undefined || own.agentSteps.has(event.step)) return;
        meters.cost.of('', own.workflow).value += event.cost_usd;
        break;
      case 'review.requested':
        runs.asked(own, event.review);
        break;
      case 'review.resolved':
        runs.answered(own, event.review);
        break;
      case 'invoke':
        meters.invokes.of(event.artifact, event.fallback?.reason ?? 'decided').value++;
        break;
      default:
        break;
    }
  };

  return {
    reviews: runs.reviews,
    knows: (run) => runs.get(run) !== undefined,
    recall: (first) => void begin(first.run, first),
    called(parent) {
      if (parent !== undefined) runs.get(parent.session)?.agentSteps.add(parent.action);
    },
    add(event) {
      if (event.type === 'workflow.started') {
        meters.runsStarted.of(event.workflow).value++;
        begin(event.run, event);
        return;
      }
      const own =
        runs.get(event.run) ?? (event.type === 'workflow.resumed' ? begin(event.run, undefined) : undefined);
      if (own !== undefined) fold(own, event);
    },
  };
}
