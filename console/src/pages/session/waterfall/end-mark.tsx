import type { ActionStatus } from '../../../../../telltale/src/log/action.ts';
import { cx } from '../../../ui/class-names.ts';
import { Icon } from '../../../ui/icon.tsx';
import type { IconName } from '../../../ui/icon-shapes.ts';

export interface EndMarkProps {
  readonly status: ActionStatus;
  readonly left: number;
  readonly seq: number;
  readonly text: string;
}

const MARKS: Readonly<Record<ActionStatus, readonly [icon: IconName, ink: string, word: string]>> = {
  waiting: ['clock', 'text-wait', 'waits'],
  running: ['spinner', 'text-accent animate-turn', ''],
  completed: ['check', 'text-done', ''],
  failed: ['cross', 'text-fail', 'failed'],
  skipped: ['slash', 'text-off', 'skipped'],
  cancelled: ['slash', 'text-off', 'cancelled'],
  interrupted: ['alert', 'text-stall', 'interrupted'],
  compensated: ['history', 'text-off', 'undone'],
};

/** The status of an action after its bar: a shape, its duration, and a word if it did not simply succeed. */
export function EndMark({ status, left, seq, text }: EndMarkProps) {
  const [icon, ink, word] = MARKS[status];
  return (
    <span
      data-seq={seq}
      className="absolute top-0 z-[6] flex h-full items-center gap-1 pl-1.5 text-micro whitespace-nowrap text-ink-faint tabular-nums"
      style={{ left }}
    >
      <Icon name={icon} size={11} className={cx(ink)} />
      {text}
      {word === '' ? null : <span className={ink.split(' ')[0]}>{word}</span>}
    </span>
  );
}
