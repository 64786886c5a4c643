import { type Clock, within } from '../lib/clock.ts';
import type { RuntimeError } from '../lib/errors.ts';
import type { Exporters } from './export/open-exporters.ts';
import type { Metric } from './metrics/instruments.ts';
import { exporterBroken, notFlushed, notSent, type TelemetrySettings } from './read-settings.ts';
import type { SpanRecord } from './traces/open-span.ts';

export interface OutboxOptions {
  readonly settings: TelemetrySettings;
  readonly version: string;
  readonly clock: Clock;
  readonly onError: (error: RuntimeError) => void;
  readonly host?: string;
  readonly metrics: () => Promise<readonly Metric[]>;
}

/** What goes to a collector, if anything does. */
export interface TelemetryOutbox {
  span(span: SpanRecord): void;
  close(): Promise<void>;
}

/** Spans that wait for the packages to be loaded; later ones are dropped. */
const MAX_WAITING = 2_048;
/** How long the end of a process waits for a collector. */
const CLOSE_MS = 2_000;
/** A collector that is away is told of once in this time. */
const QUIET_MS = 600_000;

export function createOutbox(options: OutboxOptions): TelemetryOutbox {
  const { settings, clock, onError } = options;
  const isOn = settings.traces !== undefined || settings.metrics !== undefined;
  const startedAt = clock.now();
  const waiting: SpanRecord[] = [];
  let exporters: Exporters | undefined;
  let closing: Promise<void> | undefined;
  let toldAt: number | undefined;

  const tell = (error: RuntimeError) => {
    const now = clock.monotonic();
    if (toldAt !== undefined && now - toldAt < QUIET_MS) return;
    toldAt = now;
    onError(error);
  };

  const load = async (): Promise<Exporters | undefined> => {
    try {
      const { openExporters } = await import('./export/open-exporters.ts');
      const opened = openExporters({
        ...options,
        startedAt,
        now: () => clock.now(),
        onSent(signal, url, error) {
          if (error !== undefined) tell(notSent(signal, url, error));
        },
      });
      exporters = opened;
      for (const span of waiting.splice(0)) opened.span(span);
      return opened;
    } catch (thrown) {
      tell(exporterBroken(thrown));
      return undefined;
    }
  };

  // At once, while sessions are still to begin: it takes the thread for a tenth of a second, which a stream would notice.
  const opening = isOn ? load() : Promise.resolve(undefined);

  const flush = async () => {
    const ended = await within(
      clock,
      CLOSE_MS,
      opening.then((all) => all?.close()),
    );
    if (ended.kind === 'late') tell(notFlushed(CLOSE_MS));
    else if (ended.kind === 'failed') tell(exporterBroken(ended.error));
  };

  return {
    span(span) {
      if (exporters !== undefined) exporters.span(span);
      else if (waiting.length < MAX_WAITING) waiting.push(span);
    },
    close() {
      closing ??= flush();
      return closing;
    },
  };
}
