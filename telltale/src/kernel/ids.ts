import type { Clock } from './clock.ts';

/** Crockford's base 32 in lower case: sorts as it counts, and has no i, l, o, u to misread. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_CHARS = 10;
const RANDOM_CHARS = 16;

export interface IdSource {
  /** A new id, `prefix_` in front if one is given. Ids of one source sort in the order they were made. */
  next(prefix?: string): string;
}

export interface IdSourceDeps {
  readonly clock: Pick<Clock, 'now'>;
  /** Fills the array with random bytes; the system's generator by default. */
  readonly random?: (bytes: Uint8Array) => void;
}

/**
 * Ids of 26 characters: 48 bits of time, 80 bits of randomness. Within one millisecond, or when the clock is set
 * back, the random part counts up instead, so order holds and no two are alike.
 */
export function createIdSource({ clock, random = systemRandom }: IdSourceDeps): IdSource {
  let lastTime = -1;
  const digits = new Uint8Array(RANDOM_CHARS);

  const countUp = () => {
    for (let i = RANDOM_CHARS - 1; i >= 0; i--) {
      const digit = digits[i] ?? 0;
      if (digit < 31) {
        digits[i] = digit + 1;
        return;
      }
      digits[i] = 0;
    }
    lastTime++;
  };

  return {
    next(prefix) {
      const now = Math.max(0, Math.floor(clock.now())); // a clock before 1970 has no place in 48 bits
      if (now > lastTime) {
        lastTime = now;
        random(digits);
        for (let i = 0; i < RANDOM_CHARS; i++) digits[i] = (digits[i] ?? 0) & 31;
      } else countUp();
      let id = prefix === undefined ? '' : `${prefix}_`;
      id += encodeTime(lastTime);
      for (const digit of digits) id += ALPHABET[digit];
      return id;
    },
  };
}

/** The id that a time and a digest give, the same each time: for what must not be made twice. The digest has 16 bytes or more. */
export const derivedId = (prefix: string, timeMs: number, digest: Uint8Array): string =>
  `${prefix}_${encodeTime(Math.max(0, Math.floor(timeMs)))}${Array.from(
    digest.subarray(0, RANDOM_CHARS),
    (byte) => ALPHABET[byte & 31],
  ).join('')}`;

function encodeTime(ms: number): string {
  let text = '';
  for (let rest = ms, i = 0; i < TIME_CHARS; i++) {
    text = ALPHABET[rest % 32] + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

function systemRandom(bytes: Uint8Array): void {
  crypto.getRandomValues(bytes as Uint8Array<ArrayBuffer>);
}
