import { usage } from './usage.ts';

/** A number from a command line, at least `least`. */
export function wholeNumber(name: string, text: string, least = 1): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= least) return value;
  throw usage(
    `${name} '${text}' is not a whole number of at least ${least}.`,
    `Write ${name} ${Math.max(least, 3)}, say.`,
  );
}
