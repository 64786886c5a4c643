import type { RunRequest, TextNumbers } from './messages.ts';

/** Texts that a thread keeps; the one that was not used for the longest time makes room for the next. */
export const MAX_TEXTS = 256;
/** Longer ones are sent each time: characters. */
const MAX_TEXT = 64 * 1024;

/** Which texts a thread has been sent, and under which numbers it keeps them. */
export interface KnownTexts {
  numberOf(text: string): number | undefined;
  /** A number for a text that is about to be sent; undefined for one that is not to be kept. */
  learn(text: string): number | undefined;
}

export function createKnownTexts(): KnownTexts {
  /** The first was not used for the longest time. */
  const numbers = new Map<string, number>();
  const numberOf = (text: string): number | undefined => {
    const number = numbers.get(text);
    if (number === undefined) return undefined;
    numbers.delete(text);
    numbers.set(text, number);
    return number;
  };
  return {
    numberOf,
    learn(text) {
      if (text.length > MAX_TEXT) return undefined;
      const known = numberOf(text);
      if (known !== undefined) return known;
      const [oldest] = numbers;
      const isFull = numbers.size >= MAX_TEXTS && oldest !== undefined;
      const number = isFull ? oldest[1] : numbers.size;
      if (isFull) numbers.delete(oldest[0]);
      numbers.set(text, number);
      return number;
    },
  };
}

export const numbersOf = (
  { source, module, frozen }: RunRequest,
  numberOf: (text: string) => number | undefined,
): TextNumbers => ({
  source: numberOf(source),
  module: module === undefined ? undefined : numberOf(module),
  frozen: numberOf(frozen),
});
