import type { ReactNode } from 'react';
import { cx } from './class-names.ts';

export interface Column<Row> {
  readonly id: string;
  readonly label: string;
  readonly cell: (row: Row) => ReactNode;
  /** Figures stand at the end of their column. */
  readonly figure?: boolean;
  readonly className?: string;
}

export interface TableProps<Row> {
  /** What its rows are. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly idOf: (row: Row) => string;
}

/** A plain table, for lists of some hundreds at the most; what may be longer is virtualised. */
export const Table = <Row,>({ label, columns, rows, idOf }: TableProps<Row>) => (
  <section
    aria-label={label}
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what is wider than the window is scrolled to by keyboard, too.
    tabIndex={0}
    className="overflow-x-auto rounded-lg border border-line bg-surface"
  >
    <table className="w-full border-collapse text-body">
      <caption className="sr-only">{label}</caption>
      <thead>
        <tr className="border-b border-line bg-sunken text-left text-small text-ink-faint">
          {columns.map((column) => (
            <th
              key={column.id}
              scope="col"
              className={cx('h-8 px-3 font-medium whitespace-nowrap', column.figure === true && 'text-right')}
            >
              {column.label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody className="divide-y divide-line">
        {rows.map((row) => (
          <tr key={idOf(row)} className="hover:bg-hover">
            {columns.map((column) => (
              <td
                key={column.id}
                className={cx(
                  'px-3 py-2 align-top',
                  column.figure === true && 'text-right tabular-nums',
                  column.className,
                )}
              >
                {column.cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </section>
);
