import type { IconName } from '../../../ui/icon-shapes.ts';
import { STATUS_LOOKS } from '../../../ui/status-look.ts';
import type { NodeMark } from './run-position.ts';

export interface MarkLook {
  readonly label: string;
  readonly icon: IconName;
  readonly ink: string;
  readonly ground: string;
  readonly border: string;
}

/** The colors and shapes that are used everywhere, with a border. */
export const MARK_LOOKS: Readonly<Record<NodeMark['status'], MarkLook>> = {
  running: { ...STATUS_LOOKS.running, border: 'border-accent' },
  waiting: { ...STATUS_LOOKS.waiting, border: 'border-wait' },
  completed: { ...STATUS_LOOKS.completed, border: 'border-done' },
  failed: { ...STATUS_LOOKS.failed, border: 'border-fail' },
  stalled: { ...STATUS_LOOKS.stalled, border: 'border-stall' },
  cancelled: { ...STATUS_LOOKS.cancelled, border: 'border-off' },
  quarantined: { ...STATUS_LOOKS.quarantined, border: 'border-fail' },
  skipped: {
    label: 'Skipped',
    icon: 'minus',
    ink: 'text-off',
    ground: 'bg-off-soft',
    border: 'border-dashed border-line-strong',
  },
};
