import type { Json } from '../lib/json.ts';
import type { Store, StreamInfo, TableWrite } from './store.ts';
import { appendCommitted } from './upkeep/append-committed.ts';

/**
 * The status of a session or run that nothing picks up by itself: recovery, workers, timers and messages look for
 * `running` and `waiting`. A person can still resume it, cancel it and read it.
 */
export const QUARANTINED = 'quarantined';

/** By stream, why it is quarantined and what its status was. */
export const QUARANTINE_TABLE = 'store.quarantine';

/** An export carries the status that a stream had before, and this table describes only the store it is in. */
export interface Quarantine {
  readonly why: string;
  readonly at: number;
  /** The status and due time that it had. */
  readonly status: string;
  readonly due?: number;
}

/** Statuses of streams that have ended: nothing picks those up. */
const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'stalled', 'cancelled']);

export const hasEnded = ({ status }: Pick<StreamInfo, 'status'>): boolean => ENDED.has(status);

/** Why a stream with the status `quarantined` has it. */
export async function readQuarantine(
  { tables }: Pick<Store, 'tables'>,
  stream: string,
): Promise<Quarantine | undefined> {
  const row = await tables.get(QUARANTINE_TABLE, stream);
  return row === undefined ? undefined : (row as unknown as Quarantine);
}

/**
 * Quarantines a stream that nobody works on. Rejects with `stream_owned` while somebody does. A stream that has ended
 * or is quarantined already stays as it is.
 */
export async function quarantine(
  store: Pick<Store, 'acquire' | 'info' | 'tables'>,
  stream: string,
  why: string,
  now: number,
): Promise<void> {
  const writer = await store.acquire(stream);
  try {
    const info = await store.info(stream);
    if (info === undefined || hasEnded(info) || info.status === QUARANTINED) return;
    const { status, due } = info;
    await noteQuarantine(store, stream, { why, at: now, status, ...(due === undefined ? {} : { due }) });
    await appendCommitted(writer, { expectedSeq: writer.head, events: [], status: QUARANTINED });
  } finally {
    await writer.release();
  }
}

export const noteQuarantine = (
  { tables }: Pick<Store, 'tables'>,
  stream: string,
  noted: Quarantine,
): Promise<void> => tables.set(QUARANTINE_TABLE, stream, { ...noted } as Json);

/** Forgets why a stream was quarantined. Whoever resumes or cancels it gives it another status. */
export async function liftQuarantine(store: Pick<Store, 'info' | 'tables'>, stream: string): Promise<void> {
  const info = await store.info(stream);
  if (info?.status === QUARANTINED) await store.tables.delete(QUARANTINE_TABLE, stream);
}

/** The same, in one commit with the event that says that it goes on. */
export const liftingWrites = (stream: string): readonly TableWrite[] => [
  { table: QUARANTINE_TABLE, key: stream, value: undefined },
];

/** A stream as it was before it was quarantined: what an export carries, and what an import is compared with. */
export async function asBefore<Info extends Pick<StreamInfo, 'stream' | 'status' | 'due'>>(
  store: Pick<Store, 'tables'>,
  info: Info,
): Promise<Info> {
  if (info.status !== QUARANTINED) return info;
  const noted = await readQuarantine(store, info.stream);
  if (noted === undefined) return info;
  const { due: _, ...rest } = info;
  const { status, due } = noted;
  return { ...rest, status, ...(due === undefined ? {} : { due }) } as Info;
}

/**
 * Whether what this process holds may be another's by now, since it has given no sign of life for as long as the others
 * wait for one: it was paused, or cut off. Undefined where no other machine can take anything.
 */
export const mayBeLost = ({ shared }: Pick<Store, 'shared'>): (() => boolean) | undefined =>
  shared && (() => !shared.isAlive());
