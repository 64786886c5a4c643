/** What streams to clients may take. All of it is bounded, whatever clients do. */
export interface StreamLimits {
  /** Connections at once; one more is refused with `too_many_streams`. Fewer than the server takes: others have to come through. */
  readonly maxClients: number;
  /** Under load, events of a channel are gathered for so long. */
  readonly windowMs: number;
  /** Events to clients in a window up to which each is written at once; with more, there is load. */
  readonly quietEvents: number;
  /** After so long a silence a comment is sent: proxies end what seems dead. */
  readonly keepAliveMs: number;
  /** What may wait in the socket of one client; one with more is written to again when it has read all of it. */
  readonly maxClientBytes: number;
  /** What may wait in all sockets together; beyond it no client may have anything waiting. */
  readonly maxWaitingBytes: number;
  /** A client that reads nothing for so long is let go of, and may come back. */
  readonly patienceMs: number;
  /** What is read of a log at a time, about. */
  readonly pageBytes: number;
  /** Events that are read of a log at a time. */
  readonly pageEvents: number;
  /** Reads of logs at once. */
  readonly maxReads: number;
  /** How often streams of other processes are looked at for headlines. */
  readonly pollMs: number;
  /** The same where other processes say which have moved: only what they could not say is found by it. */
  readonly sharedPollMs: number;
  /** When the server closes, clients have so long to take what is on its way to them. */
  readonly farewellMs: number;
}

const KIB = 1024;
const MIB = 1024 * KIB;

export const STREAM_LIMITS: StreamLimits = {
  maxClients: 8_000,
  windowMs: 50,
  quietEvents: 250,
  keepAliveMs: 15_000,
  maxClientBytes: 256 * KIB,
  maxWaitingBytes: 64 * MIB,
  patienceMs: 30_000,
  pageBytes: 256 * KIB,
  pageEvents: 1_000,
  maxReads: 16,
  pollMs: 1_000,
  sharedPollMs: 10_000,
  farewellMs: 2_000,
};
