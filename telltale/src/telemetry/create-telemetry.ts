import type { SessionEvent } from '../events/event.ts';
import type { RunEvent } from '../events/run-event.ts';
import type { Clock } from '../kernel/clock.ts';
import type { RuntimeError } from '../kernel/runtime-error.ts';
import { createInstruments } from './metrics/instruments.ts';
import { prometheusText } from './metrics/prometheus-text.ts';
import { createRegistry } from './metrics/registry.ts';
import { createReviewLook, type StillOpen } from './metrics/review-look.ts';
import { createRunMeter } from './metrics/run-meter.ts';
import { createSessionMeter } from './metrics/session-meter.ts';
import { createOutbox } from './outbox.ts';
import { type Env, readSettings } from './read-settings.ts';
import { createRecaller, type Recall } from './recaller.ts';
import type { Telemetry } from './telemetry.ts';
import { foldBroken } from './telemetry-errors.ts';
import { createSpanFold } from './traces/span-fold.ts';

export interface TelemetryOptions {
  /** Where the OTEL_ variables are. */
  readonly env: Env;
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
