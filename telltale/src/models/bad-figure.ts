import type { Model } from './model.ts';

/** An invalid figure in a Model object. */
export interface BadFigure {
  /** The path to it: `price.input`. */
  readonly path: readonly string[];
  readonly found: unknown;
  readonly hint: string;
}

const PRICE = 'Give dollars per million tokens, 0 or more. Leave "price" out if you do not know it.';
const WINDOW =
  'Give the number of tokens that fit into a request. Leave "contextWindow" out if you do not know it.';

/**
 * Finds the first invalid figure of a program's own Model. A cost of NaN would be below every limit, and so disable all
 * of them.
 */
export function badFigure({ price, contextWindow }: Model): BadFigure | undefined {
  if (contextWindow !== undefined && !(isFigure(contextWindow) && contextWindow > 0))
    return { path: ['contextWindow'], found: contextWindow, hint: WINDOW };
  if (price === undefined) return undefined;
  if (typeof price !== 'object' || price === null) return { path: ['price'], found: price, hint: PRICE };
  const { input, output, cached = 0, written = 0 } = price;
  for (const [name, found] of Object.entries({ input, output, cached, written }))
    if (!isFigure(found)) return { path: ['price', name], found, hint: PRICE };
  return undefined;
}

const isFigure = (value: unknown): boolean => Number.isFinite(value) && (value as number) >= 0;
