import { atMost, type Verdict } from '../agents/verdict.ts';

export const OURS = 'telltale';
export const RAW = 'raw ServerResponse, 50 ms';

/** Medians of one contestant. */
export interface Row {
  readonly name: string;
  readonly perSecond: number;
  /** CPU time for each event that reached a client. */
  readonly usPerEvent: number;
  /** Milliseconds from the event to its client. */
  readonly p50: number;
  readonly p99: number;
}

const MOST_OF_RAW = 1.5;

export function judgeSse(scene: string, rows: readonly Row[]): Verdict {
  const [ours, raw] = [OURS, RAW].map((name) => rows.find((row) => row.name === name));
  if (ours === undefined || raw === undefined) throw new Error('A contestant is missing.');
  return atMost(
    `${scene}: at most ${MOST_OF_RAW} × the CPU time of raw coalesced responses`,
    ours.usPerEvent / raw.usPerEvent,
    MOST_OF_RAW,
    '×',
  );
}
