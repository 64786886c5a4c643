import type { Palette } from '../../manifest/format-diagnostic.ts';
import type { StreamInfo } from '../../store/store.ts';
import { timeText } from './figures.ts';
import { harmlessLine } from './harmless.ts';

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

/** Why a session or run is quarantined, and the command that releases it. */
export interface ShownQuarantine {
  readonly why: string;
  readonly at: number;
  readonly release: string;
}

/** The status of a session or run and the process that works on it, for people; below it, why it is quarantined. */
export function statusLines(
  { status, pid, quarantine, paint }: ShownStatus,
  field: (label: string, text: string) => string,
): readonly string[] {
  const process = pid === undefined ? '' : `, process ${pid}`;
  if (quarantine === undefined)
    return [field('status', paintStatus(status, harmlessLine(status), paint) + process)];
  return [
    field('status', `${paintStatus('quarantined', 'quarantined', paint)}: ${harmlessLine(quarantine.why)}`),
    field('', `Nothing picks it up by itself. To try it again: ${quarantine.release}`),
  ];
}

export interface ShownStatus {
  /** What it is called: see `shownStatus`. */
  readonly status: string;
  /** The process that works on it. */
  readonly pid?: number | undefined;
  readonly quarantine?: ShownQuarantine | undefined;
  readonly paint: Palette;
}

/** The same for a script. Absent where it is not quarantined. */
export const quarantineJson = (quarantine: ShownQuarantine | undefined) =>
  quarantine === undefined
    ? {}
    : { quarantine: { why: quarantine.why, at: timeText(quarantine.at), release: quarantine.release } };

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
