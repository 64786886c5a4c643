import { displayWidth } from '../../manifest/display-width.ts';
import { clip, padded } from './columns.ts';

export interface Column {
  readonly title: string;
  readonly align?: 'right';
  /** Gives way where the terminal is too narrow; one column at the most. */
  readonly gives?: true;
}

type Paint = (text: string, row: number, column: number) => string;

const GAP = '  ';
const LEAST = 8;

/** A table of harmless texts. `columns` is the terminal's width; undefined leaves everything as long as it is. */
export function tableLines(
  head: readonly Column[],
  rows: readonly (readonly string[])[],
  { columns, paint = (text) => text }: { readonly columns?: number | undefined; readonly paint?: Paint },
): readonly string[] {
  const widths = head.map(({ title }, at) =>
    rows.reduce((most, row) => Math.max(most, displayWidth(row[at] ?? '')), displayWidth(title)),
  );
  const giving = head.findIndex(({ gives }) => gives === true);
  const total = widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length);
  if (columns !== undefined && giving !== -1 && total >= columns)
    widths[giving] = Math.max(LEAST, (widths[giving] ?? 0) - (total - columns + 1));
  const line = (cells: readonly string[], row: number) =>
    head
      .map(({ align }, at) => {
        const width = widths[at] ?? 0;
        const text = clip(cells[at] ?? '', width);
        const blank = padded('', width - displayWidth(text));
        const painted = paint(text, row, at);
        return align === 'right' ? blank + painted : painted + (at === head.length - 1 ? '' : blank);
      })
      .join(GAP)
      .trimEnd();
  return [
    line(
      head.map(({ title }) => title),
      -1,
    ),
    ...rows.map((row, at) => line(row, at)),
  ];
}
