import type { ActionStatus } from '../../../../../telltale/src/events/action.ts';
import { cx } from '../../../ui/class-names.ts';

const INKS: Readonly<Record<ActionStatus, string>> = {
  waiting: 'text-wait',
  running: 'text-accent',
  completed: 'text-done',
  failed: 'text-fail',
  skipped: 'text-off',
  cancelled: 'text-off',
  interrupted: 'text-stall',
  compensated: 'text-off',
};

const WORDS: Partial<Record<ActionStatus, string>> = { compensated: 'undone', interrupted: 'interrupted' };

export const StatusWord = ({ status }: { readonly status: ActionStatus }) => (
  <span className={cx('ml-auto shrink-0 font-medium', INKS[status])}>{WORDS[status] ?? status}</span>
);
