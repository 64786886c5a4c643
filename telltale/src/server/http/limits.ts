/** What one client, or all of them, may take of a server. */
export interface ServerLimits {
  /** Of a request's head: beyond that it is 431. */
  readonly headerBytes: number;
  readonly headers: number;
  /** Of a request's body: beyond that it is 413, and no more of it is kept. */
  readonly bodyBytes: number;
  /** Lists and objects in each other. */
  readonly jsonDepth: number;
  /** Until a request's head is there, from the connection or the last answer on: what trickles is 408. */
  readonly headersMs: number;
  /** Until its body is there, too. */
  readonly requestMs: number;
  /** How long a connection without a request is kept after an answer. */
  readonly keepAliveMs: number;
  /** How long a client may leave an answer unread. */
  readonly stalledMs: number;
  /** How often the times above are looked at. */
  readonly checkMs: number;
  /** At a time; the next one is not accepted. */
  readonly connections: number;
  /** Requests of a token, or of an address where none is sent. The burst is also what may come back at once after a restart. */
  readonly perSecond: number;
  readonly burst: number;
  /** Tokens that are none, of an address. */
  readonly failuresPerMinute: number;
  /** How long `drain` waits for requests in hand. */
  readonly drainMs: number;
}

export const DEFAULT_LIMITS: ServerLimits = {
  headerBytes: 16 * 1024,
  headers: 100,
  bodyBytes: 1024 * 1024,
  jsonDepth: 200,
  headersMs: 10_000,
  requestMs: 60_000,
  keepAliveMs: 10_000,
  stalledMs: 120_000,
  checkMs: 2_000,
  connections: 10_000,
  perSecond: 200,
  burst: 2_000,
  failuresPerMinute: 10,
  drainMs: 10_000,
};
