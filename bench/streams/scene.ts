/** What is measured: how many clients follow how many sessions, and how much they are told. */
export interface Scene {
  readonly clients: number;
  readonly sessions: number;
  /** Of each session. */
  readonly eventsPerSecond: number;
}

/** Milliseconds of a clock that all processes of a machine share. */
export const sharedMs = (): number => Number(process.hrtime.bigint() / 1000n) / 1000;

export const sessionName = (n: number): string => `ses_${String(n).padStart(26, '0')}`;

/** Which session a client follows. */
export const followed = (client: number, { sessions }: Scene): string => sessionName(client % sessions);

export interface ServerFigures {
  readonly cpuMs: number;
  readonly wallMs: number;
}

export interface ClientFigures {
  /** Live events and events of the log. */
  readonly received: number;
  /** Delays of live events in milliseconds. */
  readonly p50: number;
  readonly p99: number;
}
