import { hunks, lineDiff } from '../../../../telltale/src/lib/text.ts';

/** A line of a comparison with its number in each text, or the number of omitted equal lines. */
export type DiffRow =
  | {
      readonly kind: 'same' | 'old' | 'new';
      readonly text: string;
      readonly old?: number;
      readonly fresh?: number;
    }
  | { readonly kind: 'gap'; readonly lines: number };

export interface Diff {
  readonly rows: readonly DiffRow[];
  readonly added: number;
  readonly removed: number;
}

/** What changed between two texts, with a few lines of context. A final line break does not count as a line. */
export function diffRows(before: string, after: string): Diff {
  const lines = lineDiff(before.replace(/\n$/, ''), after.replace(/\n$/, ''));
  const rows: DiffRow[] = [];
  let at = 0;
  let old = 0;
  let fresh = 0;
  const step = () => {
    const line = lines[at++];
    if (line?.kind !== 'new') old++;
    if (line?.kind !== 'old') fresh++;
  };
  for (const shown of hunks(lines)) {
    if (shown === undefined) {
      rows.push({ kind: 'gap', lines: 0 });
      continue;
    }
    const from = at;
    while (at < lines.length && lines[at] !== shown) step();
    const last = rows.at(-1);
    if (last?.kind === 'gap') rows[rows.length - 1] = { kind: 'gap', lines: at - from };
    step();
    rows.push({
      ...shown,
      ...(shown.kind === 'new' ? {} : { old }),
      ...(shown.kind === 'old' ? {} : { fresh }),
    });
  }
  const last = rows.at(-1);
  if (last?.kind === 'gap') rows[rows.length - 1] = { kind: 'gap', lines: lines.length - at };
  return {
    rows,
    added: lines.filter(({ kind }) => kind === 'new').length,
    removed: lines.filter(({ kind }) => kind === 'old').length,
  };
}
