import { readRun } from '../../engine/read-run.ts';
import { eventUnknown } from '../../session/log/event-unknown.ts';
import type { Store, StreamInfo } from '../../store/store.ts';
import { paletteFor } from '../colour.ts';
import type { Io } from '../io.ts';
import { jsonText } from '../view/json-line.ts';
import { runJson } from '../view/run-json.ts';
import { runStateLines } from '../view/run-state-lines.ts';
import { shownStatus } from '../view/status.ts';

const DEFAULT_COLUMNS = 100;

/** Prints what is known of a run, now or after an event. */
export async function showRun(
  store: Store,
  info: StreamInfo,
  { stdout }: Pick<Io, 'stdout'>,
  options: { readonly seq?: number | undefined; readonly json?: boolean | undefined },
): Promise<void> {
  const { seq } = options;
  if (seq !== undefined && seq > info.head) throw eventUnknown(info.stream, seq, info.head);
  const state = await readRun(store, info.stream, seq);
  const isNow = state.seq >= info.head;
  const told = isNow ? { status: shownStatus(info), pid: info.owner?.pid } : { status: state.status };
  const columns = stdout.columns ?? DEFAULT_COLUMNS;
  await stdout.write(
    options.json === true
      ? jsonText(runJson(state, told), 2)
      : `${runStateLines(state, { ...told, columns, paint: paletteFor(stdout) }).join('\n')}\n`,
  );
}
