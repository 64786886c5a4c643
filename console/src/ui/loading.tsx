import { cx } from './class-names.ts';

export interface LoadingProps {
  /** What is being read: "Reading the sessions". */
  readonly label: string;
  /** How many placeholder lines to show. */
  readonly rows?: number;
  readonly className?: string;
}

const WIDTHS = ['w-2/3', 'w-5/6', 'w-1/2', 'w-3/4'];

export const Loading = ({ label, rows = 4, className }: LoadingProps) => (
  <div role="status" className={cx('flex flex-col gap-3 p-4', className)}>
    <span className="sr-only">{label}…</span>
    {Array.from({ length: rows }, (_, row) => row).map((row) => (
      <span key={row} className={cx('h-4 animate-breathe rounded bg-sunken', WIDTHS[row % WIDTHS.length])} />
    ))}
  </div>
);
