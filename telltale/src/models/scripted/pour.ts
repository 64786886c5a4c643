import { type Clock, sleep } from '../../lib/clock.ts';
import { CHARACTERS_A_TOKEN } from './script.ts';

export interface Pour {
  readonly text: string;
  /** Characters that are given: all by default. */
  readonly end?: number;
  readonly chunk: number;
  readonly tokensPerSecond: number | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly push: (delta: string) => void;
}

/** Characters after which an instant stream lets others have a turn: a few milliseconds with a session behind it. */
const CHARACTERS_A_BREATH = 16 * 1024;

/**
 * Gives a text away in pieces, at its pace if it has one. Resolves with false if it was aborted; then the piece that
 * was being given away is the last. Two halves of one character stay together. An instant piece costs some 50 ns.
 */
export function pour(pour: Pour): Promise<boolean> {
  return pour.tokensPerSecond === undefined ? pourAtOnce(pour) : pourAtPace(pour, pour.tokensPerSecond);
}

async function pourAtOnce({ text, end = text.length, chunk, signal, push }: Pour): Promise<boolean> {
  let breath = CHARACTERS_A_BREATH;
  for (let from = 0; from < end && !signal.aborted; ) {
    const to = cut(text, from + chunk, end);
    push(text.slice(from, to));
    from = to;
    if (from < breath) continue;
    breath = from + CHARACTERS_A_BREATH;
    await new Promise((resolve) => setImmediate(resolve));
  }
  return !signal.aborted;
}

/** Each piece has its time from the start on: a timer that fires late delays one piece, not all behind it. */
async function pourAtPace(
  { text, end = text.length, chunk, clock, signal, push }: Pour,
  tokensPerSecond: number,
): Promise<boolean> {
  const msACharacter = 1000 / (tokensPerSecond * CHARACTERS_A_TOKEN);
  const start = clock.monotonic();
  for (let from = 0; from < end && !signal.aborted; ) {
    const to = cut(text, from + chunk, end);
    if (!(await waitUntil(start + to * msACharacter, clock, signal))) return false;
    push(text.slice(from, to));
    from = to;
  }
  return !signal.aborted;
}

async function waitUntil(due: number, clock: Clock, signal: AbortSignal): Promise<boolean> {
  const left = due - clock.monotonic();
  return left <= 0 ? !signal.aborted : wait(left, clock, signal);
}

/** Resolves with false if it was aborted first. */
export function wait(ms: number, clock: Clock, signal: AbortSignal): Promise<boolean> {
  return sleep(clock, ms, signal).then(
    () => true,
    () => false,
  );
}

/** Where a piece ends: not between the halves of one character, unless the whole text ends there. */
function cut(text: string, at: number, end: number): number {
  if (at >= end) return end;
  const isHigh = (text.charCodeAt(at - 1) & 0xfc00) === 0xd800;
  const isLow = (text.charCodeAt(at) & 0xfc00) === 0xdc00;
  return isHigh && isLow ? at + 1 : at;
}
