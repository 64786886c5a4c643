import type { IncomingMessage, ServerResponse } from 'node:http';

/** Event streams to clients (SSE). Written on the bare response: a framework's stream costs three times as much. */
export interface Streams {
  /**
   * Answers with the events of a session or run: those of the log behind `after` first, then as they come, without a gap
   * or a repeat; `id` is the seq. Live events have no id. Ends with the stream's end. Resolves once the response is over.
   */
  serve(
    request: IncomingMessage,
    response: ServerResponse,
    of: {
      readonly kind: 'session' | 'run';
      readonly stream: string;
      /** The seq of the last event that the client has. */
      readonly after: number;
      /** Whether deltas and progress are wanted. */
      readonly live: boolean;
    },
  ): Promise<void>;
  /** Answers with the headlines of all sessions and runs of the store: what `foldSummary` and `foldRunSummary` look at. */
  headlines(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** Open connections. */
  readonly clients: number;
  /** Tells all clients that the server goes away, and ends their streams. */
  close(): Promise<void>;
}
