import type { SessionEvent } from '../../../../../telltale/src/log/event.ts';
import type { SessionState } from '../../../../../telltale/src/log/state.ts';
import {
  createStateMetrics,
  type FieldMetrics,
  type StateMetrics,
} from '../../../../../telltale/src/log/state-metrics.ts';
import { createTimeSaved, type TimeSavedFold } from '../../../../../telltale/src/log/time-saved.ts';
import { createFieldHistory, type FieldHistory } from './field-history.ts';
import { hearLive, type LiveSpeech, SILENCE, settleLive } from './live-speech.ts';
import { createSessionLog, type LogSource, type LogStatus } from './session-log.ts';
import { createStateTimeline } from './state-timeline.ts';
import { createStream, type Stream } from './stream.ts';
import { createWaterfall, type Waterfall } from './waterfall.ts';

/** What the page shows of a session: folds of its log, and speech that is not on it yet. */
export interface SessionModel {
  readonly events: readonly SessionEvent[];
  readonly waterfall: Waterfall;
  readonly stream: Stream;
  readonly history: FieldHistory;
  readonly metrics: MetricsTimeline;
  readonly timeSaved: Pick<TimeSavedFold, 'at'>;
  /** The state after an event. Read it at once, because the next call changes it. */
  stateAt(seq: number): SessionState;
  live(): LiveSpeech;
  status(): LogStatus;
  /** Increases with every change that listeners were told about. */
  version(): number;
  /** Called at most once per call of `schedule`. */
  subscribe(listener: () => void): () => void;
  open(): void;
  close(): void;
}

export interface SessionModelEdges {
  readonly source: LogSource;
  readonly id: string;
  /** Runs something once, a little later: in the browser's next frame. */
  readonly schedule: (run: () => void) => void;
  readonly now?: () => number;
}

export function createSessionModel({ source, id, schedule, now }: SessionModelEdges): SessionModel {
  const events: SessionEvent[] = [];
  const timeline = createStateTimeline(events);
  const waterfall = createWaterfall();
  const stream = createStream(waterfall);
  const history = createFieldHistory();
  const timeSaved = createTimeSaved();
  const listeners = new Set<() => void>();
  let live: LiveSpeech = SILENCE;
  let status: LogStatus = { kind: 'loading' };
  let version = 0;
  let isScheduled = false;

  const changed = (): void => {
    if (isScheduled) return;
    isScheduled = true;
    schedule(() => {
      isScheduled = false;
      version++;
      for (const listener of [...listeners]) listener();
    });
  };

  const add = (event: SessionEvent): void => {
    events.push(event);
    timeline.add(event);
    waterfall.add(event);
    stream.add(event);
    history.add(event);
    timeSaved.add(event);
    live = settleLive(live, event);
  };

  const log = createSessionLog(
    source,
    id,
    {
      events(batch) {
        const isFirst = events.length === 0;
        for (const event of batch) add(event);
        // For a long log, the first page is shown, and then everything. `status` tells when it is complete.
        if (isFirst || status.kind !== 'loading') changed();
      },
      live(event) {
        live = hearLive(live, event);
        changed();
      },
      status(next) {
        status = next;
        changed();
      },
    },
    now,
  );

  return {
    events,
    waterfall,
    stream,
    history,
    timeSaved,
    metrics: createMetricsTimeline(events),
    stateAt: timeline.at,
    live: () => live,
    status: () => status,
    version: () => version,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    open: log.open,
    close: log.close,
  };
}

/** How long a session was in each declared state, at any event. */
interface MetricsTimeline {
  at(seq: number): readonly FieldMetrics[];
}

/** Going forward continues the fold; going back starts over. 50,000 events take tens of milliseconds. */
function createMetricsTimeline(events: readonly SessionEvent[]): MetricsTimeline {
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
