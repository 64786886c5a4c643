import type { IconName } from './icon-shapes.ts';

/** Every status of sessions, runs, steps and actions. */
export type Status = 'running' | 'waiting' | 'completed' | 'failed' | 'stalled' | 'cancelled' | 'quarantined';

export interface StatusLook {
  readonly label: string;
  readonly icon: IconName;
  /** The classes of its text and of its background. */
  readonly ink: string;
  readonly ground: string;
}

/** Color and shape. Each status can be recognized by either one alone. */
export const STATUS_LOOKS: Readonly<Record<Status, StatusLook>> = {
  running: { label: 'Running', icon: 'spinner', ink: 'text-accent', ground: 'bg-accent-soft' },
  waiting: { label: 'Waiting', icon: 'pause', ink: 'text-wait', ground: 'bg-wait-soft' },
  completed: { label: 'Completed', icon: 'check', ink: 'text-done', ground: 'bg-done-soft' },
  failed: { label: 'Failed', icon: 'cross', ink: 'text-fail', ground: 'bg-fail-soft' },
  stalled: { label: 'Stalled', icon: 'alert', ink: 'text-stall', ground: 'bg-stall-soft' },
  cancelled: { label: 'Cancelled', icon: 'slash', ink: 'text-off', ground: 'bg-off-soft' },
  quarantined: { label: 'Quarantined', icon: 'stop', ink: 'text-fail', ground: 'bg-fail-soft' },
};

export const STATUSES = Object.keys(STATUS_LOOKS) as readonly Status[];
