import type { SessionEvent } from '../events/event.ts';
import type { RunEvent } from '../events/run-event.ts';

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
