/** Something that commits events of many sessions, and can be asked whether it did. */
export interface Contestant {
  readonly name: string;
  /** Every session appends `each` events, the next when the last is committed. Returns each one's latency in ms. */
  together(each: number): Promise<readonly number[]>;
  /** One session, nobody else. */
  alone(count: number): Promise<readonly number[]>;
  /** How many events can be read back. */
  count(): Promise<number>;
  close(): Promise<void>;
}

/** An event as a session writes them, 300 characters. */
export const event = (seq: number): string =>
  JSON.stringify({
    seq,
    at: 1_763_000_000_000 + seq,
    session: 'ses_01jcmq3vexample000000000000',
    turn: 3,
    type: 'action.completed',
    id: `act_${seq}`,
    output: { path: 'src/index.ts', lines: 120, text: 'x'.repeat(120) },
    ms: 12,
    attempts: 1,
  });
