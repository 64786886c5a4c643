import type { Palette } from '../../manifest/palette.ts';
import type { StreamInfo } from '../../store/store.ts';

/**
 * What a session's status can be called: `interrupted` is one that would go on if somebody worked on it, and
 * `quarantined` one that only a person resumes.
 */
export const STATUSES = [
  'running',
  'waiting',
  'interrupted',
  'quarantined',
  'completed',
  'failed',
  'stalled',
  'cancelled',
] as const;

/** The status as people mean it: nobody works on what has no owner. */
export function shownStatus({ status, owner }: Pick<StreamInfo, 'status' | 'owner'>): string {
  return status === 'running' && owner === undefined ? 'interrupted' : status;
}

const COLOURS: Readonly<Record<string, keyof Palette>> = {
  running: 'cyan',
  completed: 'green',
  failed: 'red',
  stalled: 'yellow',
  waiting: 'yellow',
  interrupted: 'yellow',
  quarantined: 'red',
  cancelled: 'dim',
};

export const paintStatus = (status: string, text: string, paint: Palette): string =>
  Object.hasOwn(COLOURS, status) ? paint[COLOURS[status] ?? 'dim'](text) : text;
