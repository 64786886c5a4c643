import type { ApiGraph } from '../../../../../telltale/src/client/api.ts';
import type { Size } from './layout-level.ts';

type Node = ApiGraph['nodes'][number];

/** How many lines are drawn below a node's name. Its tooltip has all of them. */
const MAX_LINES = 4;
/** How many characters of a label are drawn. Its tooltip has all of them. */
const MAX_LABEL = 34;
const MAX_WIDTH = 270;
const MIN_WIDTH = 110;
const DOT: Size = { width: 18, height: 18 };

/**
 * Estimated from the number of characters, so that a drawing is the same everywhere and needs no document to measure
 * in.
 */
export function nodeSize({ kind, name, lines }: Pick<Node, 'kind' | 'name' | 'lines'>): Size {
  if (kind === 'start' || kind === 'end') return DOT;
  const all = shownLines({ kind, lines });
  // The title of a branch is what it does, because its type says less.
  const shown = kind === 'split' ? all.slice(1) : all;
  const text = kind === 'split' ? (all[0] ?? name) : name;
  // Leaves room next to the title for a status and a count.
  const title = text.length * (kind === 'split' ? 6.8 : 8.1) + (kind === 'final' ? 70 : 62);
  const widest = Math.max(title, ...shown.map((line) => line.length * 6.3 + 26));
  return {
    width: Math.round(Math.min(MAX_WIDTH, Math.max(MIN_WIDTH, widest))),
    height: 34 + shown.length * 17 + (shown.length > 0 ? 4 : 0),
  };
}

export const shownLines = ({ lines }: Pick<Node, 'kind' | 'lines'>): readonly string[] =>
  lines.length > MAX_LINES
    ? [...lines.slice(0, MAX_LINES - 1), `… ${lines.length - MAX_LINES + 1} more`]
    : lines;

export const labelText = (label: string): string =>
  label.length > MAX_LABEL ? `${label.slice(0, MAX_LABEL - 1)}…` : label;

export const labelSize = (label: string): Size => ({
  width: Math.round(labelText(label).length * 5.9 + 12),
  height: 20,
});
