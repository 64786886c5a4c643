import { nearest, suggest } from '../../kernel/nearest.ts';

/** Constants as other languages write them. */
const CONSTANTS: ReadonlyMap<string, string> = new Map([
  ['true', 'Write true.'],
  ['false', 'Write false.'],
  ...['null', 'none', 'nil', 'undefined'].map(
    (name) => [name, 'Write null, and test for a key that may be missing with has().'] as const,
  ),
]);

const ALL_CAPITALS = /^[A-Z][A-Z0-9_]*$/;

/** What may have been meant by a name that there is not: the nearest, a constant, a text without its quotes. */
export function nameHint(name: string, known: readonly string[]): string {
  const constant = CONSTANTS.get(name.toLowerCase());
  if (constant !== undefined) return constant;
  if (ALL_CAPITALS.test(name) && nearest(name, known) === undefined)
    return `A text stands in quotes: "${name}".`;
  return suggest(name, known, 'Names');
}
