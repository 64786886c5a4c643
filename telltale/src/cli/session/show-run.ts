import { eventUnknown } from '../../agent/log/read-log.ts';
import { readRun } from '../../engine/read-run.ts';
import { toRuntimeError } from '../../lib/errors.ts';
import type { Store, StreamInfo } from '../../store/store.ts';
import { findQuarantine } from '../fleet/show-fleet.ts';
import type { Io } from '../io.ts';
import { paletteFor } from '../io.ts';
import { jsonText } from '../view/json-text.ts';
import { runJson, runStateLines } from '../view/run-state-lines.ts';
import { shownStatus } from '../view/status.ts';

const DEFAULT_COLUMNS = 100;

/** The current status of a session or run, who works on it, and why it is quarantined if it is. */
export async function statusNow(store: Store, info: StreamInfo, { stderr }: Pick<Io, 'stderr'>) {
  const onError = (thrown: unknown) => void stderr.write(`${toRuntimeError(thrown).message}\n`);
  const quarantine = await findQuarantine(store, info, onError);
  const status = quarantine === undefined ? shownStatus(info) : 'quarantined';
  return { status, pid: info.owner?.pid, quarantine };
}

/** Prints the state of a run, now or after an event. */
export async function showRun(
  store: Store,
  info: StreamInfo,
  io: Pick<Io, 'stdout' | 'stderr'>,
  options: { readonly seq?: number | undefined; readonly json?: boolean | undefined },
): Promise<void> {
  const { seq } = options;
  const { stdout } = io;
  if (seq !== undefined && seq > info.head) throw eventUnknown(info.stream, seq, info.head);
  const state = await readRun(store, info.stream, seq);
  const isNow = state.seq >= info.head;
  const told = isNow ? await statusNow(store, info, io) : { status: state.status };
  const columns = stdout.columns ?? DEFAULT_COLUMNS;
  await stdout.write(
    options.json === true
      ? jsonText(runJson(state, told), 2)
      : `${runStateLines(state, { ...told, columns, paint: paletteFor(stdout) }).join('\n')}\n`,
  );
}
