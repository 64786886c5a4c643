import type { SessionEvent } from '../../events/event.ts';
import type { RunEvent } from '../../events/run-event.ts';
import { createOpenStreams } from '../open-streams.ts';
import { createRunSpans } from './run-spans.ts';
import { createSessionSpans } from './session-spans.ts';
import type { SpanFoldDeps, SpanFoldOptions } from './span-edges.ts';
import { rootIn } from './span-ids.ts';
import type { TracedStream } from './traced-stream.ts';

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
