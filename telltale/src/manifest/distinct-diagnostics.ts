import type { Diagnostic } from './diagnostic.ts';

/**
 * Each mistake once: a file that two projects share is reported once, and so is what is wrong where it is written and,
 * with the same words, wherever an alias stands for it. Where only the alias is wrong, the alias is reported.
 */
export function distinctDiagnostics(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const seen = new Map<string, Diagnostic>();
  for (const each of diagnostics) {
    const key = keyOf(each, waysOf(each));
    if (!seen.has(key)) seen.set(key, each);
  }
  return [...seen.values()].filter((each) => {
    const way = waysOf(each);
    return !way.some((_place, index) => index > 0 && seen.has(keyOf(each, way.slice(index))));
  });
}

const keyOf = ({ file, code, message }: Diagnostic, way: readonly Way[]) =>
  JSON.stringify([file, code, message, way]);

type Way = readonly [line: number | undefined, column: number | undefined];

/** From where it is used to where it is written. */
const waysOf = ({ line, column, from = [] }: Diagnostic): readonly Way[] => [
  [line, column],
  ...from.map((place): Way => [place.line, place.column]),
];
