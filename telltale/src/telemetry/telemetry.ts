import type { SessionEvent } from '../events/event.ts';
import type { RunEvent } from '../events/run-event.ts';

/** Spans and metrics that are made of the events of the log. */
export interface Telemetry {
  /** Called with every event that is committed here. Never throws. */
  observe(event: SessionEvent | RunEvent): void;
  /** The metrics in Prometheus' text format. */
  prometheus(): string;
  /** Sends what has not been sent yet. */
  close(): Promise<void>;
}
