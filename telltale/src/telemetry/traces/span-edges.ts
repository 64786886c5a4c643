import type { OpenStreams } from '../open-streams.ts';
import type { SpanRecord } from './span-record.ts';
import type { TracedStream } from './traced-stream.ts';

export interface SpanFoldOptions {
  readonly emit: (span: SpanRecord) => void;
  /** Whether spans quote what was said and done: prompts, parameters, results, messages of errors. */
  readonly contents: boolean;
}

/** What sessions and runs need of each other. */
export interface SpanFoldDeps extends SpanFoldOptions {
  readonly streams: OpenStreams<TracedStream>;
  /** The session or run at the top of a stream's trace. */
  rootOf(stream: string): string;
}
