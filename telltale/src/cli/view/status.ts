import type { Palette } from '../../manifest/format-diagnostic.ts';
import type { StreamInfo } from '../../store/store.ts';
import { timeText } from './figures.ts';
import { harmlessLine } from './harmless.ts';

/**
 * The statuses of a session. `interrupted` means that it would continue if a process worked on it; `quarantined` means
 * that only a person can resume it.
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

/** The status of a session or run and the process that works on it. The line below says why it is quarantined. */
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
  /** See `shownStatus`. */
  readonly status: string;
  /** The process that works on it. */
  readonly pid?: number | undefined;
  readonly quarantine?: ShownQuarantine | undefined;
  readonly paint: Palette;
}

/** The same for scripts. Undefined if it is not quarantined. */
export const quarantineJson = (quarantine: ShownQuarantine | undefined) =>
  quarantine === undefined
    ? {}
    : { quarantine: { why: quarantine.why, at: timeText(quarantine.at), release: quarantine.release } };

/** The status as people understand it: without an owner, nobody works on it. */
export function shownStatus({ status, owner }: Pick<StreamInfo, 'status' | 'owner'>): string {
  return status === 'running' && owner === undefined ? 'interrupted' : status;
}

const COLORS: Readonly<Record<string, keyof Palette>> = {
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
  Object.hasOwn(COLORS, status) ? paint[COLORS[status] ?? 'dim'](text) : text;
