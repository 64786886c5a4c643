import type { SessionEvent } from '../../../../../telltale/src/events/event.ts';
import {
  createStateMetrics,
  type FieldMetrics,
  type StateMetrics,
} from '../../../../../telltale/src/events/state-metrics.ts';

/** What a session had spent in each state it declared, at any event. */
export interface MetricsTimeline {
  at(seq: number): readonly FieldMetrics[];
}

/** Forward it folds on; back it folds anew: 50,000 events take some tens of milliseconds, and nobody waits for them. */
export function createMetricsTimeline(events: readonly SessionEvent[]): MetricsTimeline {
  let metrics: StateMetrics = createStateMetrics();
  let folded = 0;
  return {
    at(seq) {
      const until = Math.min(seq, events.length);
      if (until < folded) {
        metrics = createStateMetrics();
        folded = 0;
      }
      for (; folded < until; folded++) {
        const event = events[folded];
        if (event !== undefined) metrics.add(event);
      }
      return metrics.fields();
    },
  };
}
