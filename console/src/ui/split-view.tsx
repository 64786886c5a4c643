import type { ReactNode } from 'react';
import { cx } from './class-names.ts';

export interface SplitViewProps {
  readonly list: ReactNode;
  readonly detail: ReactNode;
  /** On a narrow screen only one of the two is visible. */
  readonly showsDetail: boolean;
}

/** A list and the details of its selected item, side by side if there is room. */
export const SplitView = ({ list, detail, showsDetail }: SplitViewProps) => (
  <div className="flex min-h-0 flex-1 gap-4">
    <div
      className={cx(
        'min-h-0 min-w-0 flex-1 flex-col md:flex md:w-80 md:flex-none xl:w-96',
        showsDetail ? 'hidden' : 'flex',
      )}
    >
      {list}
    </div>
    <div className={cx('min-h-0 min-w-0 flex-1 flex-col md:flex', showsDetail ? 'flex' : 'hidden')}>
      {detail}
    </div>
  </div>
);
