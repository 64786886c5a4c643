import { type Clock, sleep } from '../../lib/clock.ts';
import { CHARACTERS_A_TOKEN } from './script.ts';

export interface Pour {
  readonly text: string;
  /** How many characters are output. All by default. */
  readonly end?: number;
  readonly chunk: number;
  readonly tokensPerSecond: number | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly push: (delta: string) => void;
}

/**
 * After this many characters, an instant stream yields to other work, which with a session means a few milliseconds.
 */
const CHARACTERS_A_BREATH = 16 * 1024;

/**
 * Outputs a text in pieces, at its pace if it has one. Resolves with false after an abort, with the present piece as
 * the last. Surrogate pairs are never split.
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

/** The time of each piece counts from the start, so a late timer delays one piece and not all that follow. */
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

/** Where a piece ends: not inside a surrogate pair, unless the text ends there. */
function cut(text: string, at: number, end: number): number {
  if (at >= end) return end;
  const isHigh = (text.charCodeAt(at - 1) & 0xfc00) === 0xd800;
  const isLow = (text.charCodeAt(at) & 0xfc00) === 0xdc00;
  return isHigh && isLow ? at + 1 : at;
}
