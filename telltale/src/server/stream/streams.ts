import type { IncomingMessage, ServerResponse } from 'node:http';

/** Event streams to clients (SSE). Written on the bare response: a framework's stream costs three times as much. */
export interface Streams {
  /**
   * Answers with the events of a session or run: those of the log behind `after` first, then as they come, without a gap
   * or a repeat; `id` is the seq. Live events have no id, and deltas that come close together may be one. Whoever joins in
   * the middle of speech, or missed some, gets a `live.snapshot`. Ends with the stream's end: `event: end`. `event: notice`
   * says why it ends before that: `closing`, `dropped` (the client was too slow), `failed` (the log cannot be read); it may
   * come back with the last id. A browser that comes back to a stream that is over, by `Last-Event-ID`, and has all of it,
   * is answered with 204. Resolves once the response is over; rejects before anything is answered: `session_unknown`,
   * `run_unknown`, `too_many_streams`, `closing`.
   */
  serve(
    request: IncomingMessage,
    response: ServerResponse,
    of: {
      readonly kind: 'session' | 'run';
      readonly stream: string;
      /** The seq of the last event that the client has; one beyond the log's end counts as its end. */
      readonly after: number;
      /** Whether deltas and progress are wanted. */
      readonly live: boolean;
    },
  ): Promise<void>;
  /**
   * Answers with the headlines of all sessions and runs of the store: what `foldSummary` and `foldRunSummary` look at. Not
   * resumable: after the notice `ready` nothing is missed, so whoever lists then has all, and leaves out what its list has.
   */
  headlines(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** Open connections. */
  readonly clients: number;
  /** Tells all clients that the server goes away, and ends their streams. */
  close(): Promise<void>;
}
