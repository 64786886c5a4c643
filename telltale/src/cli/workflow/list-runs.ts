import type { StreamInfo } from '../../store/store.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../command.ts';
import type { Io } from '../io.ts';
import { wholeNumber } from '../options.ts';
import { findStream } from '../session/find-session.ts';
import { asTyped, shownLocation, storeExists, storeFlag, storeLocation } from '../session/store-options.ts';
import { printStreams, readStatuses, streamJson } from '../session/stream-table.ts';
import { withSessions } from '../session/with-runtime.ts';
import { jsonText } from '../view/json-text.ts';
import { shownStatus } from '../view/status.ts';

export interface ListRunsOptions {
  readonly store?: string;
  readonly status?: string;
  readonly limit?: string;
  readonly of?: string;
  readonly json?: true;
}

export const DEFAULT_LIMIT = 20;
/** How many runs are searched for those that match. */
const MAX_SEARCHED = 10_000;
/** The statuses of a session except `stalled`, which only an agent can be. */
export const RUN_STATUSES = [
  'running',
  'waiting',
  'interrupted',
  'completed',
  'failed',
  'cancelled',
] as const;

/** `telltale workflow list`. */
export async function listRuns(options: ListRunsOptions, context: CommandContext): Promise<ExitCode> {
  const { io } = context;
  const limit = options.limit === undefined ? DEFAULT_LIMIT : wholeNumber('--limit', options.limit);
  const statuses = options.status === undefined ? undefined : readStatuses(options.status, RUN_STATUSES);
  const location = storeLocation(options.store, io);
  const isNarrow = statuses !== undefined || options.of !== undefined;
  const found = storeExists(location, io)
    ? await withSessions(
        context,
        { ...(options.store === undefined ? {} : { store: options.store }), mustExist: true },
        async ({ store }) => {
          const parent = options.of === undefined ? undefined : (await findStream(store, options.of)).stream;
          const runs = await store.list({ kind: 'run', limit: isNarrow ? MAX_SEARCHED : limit + 1 });
          return parent === undefined ? runs : runs.filter((run) => run.parent === parent);
        },
      )
    : [];
  const matching = found.filter((each) => statuses?.has(shownStatus(each)) ?? true);
  const shown = matching.slice(0, limit);
  await (options.json === true
    ? io.stdout.write(jsonText(shown.map(streamJson), 2))
    : print(shown, matching.length > limit, options, io));
  return EXIT.ok;
}

async function print(
  found: readonly StreamInfo[],
  areMore: boolean,
  { store }: ListRunsOptions,
  io: Io,
): Promise<void> {
  if (found.length === 0)
    return io.stdout.write(
      asTyped(
        `No workflow runs in ${shownLocation(storeLocation(store, io))}. Start one: telltale workflow run MANIFEST WORKFLOW\n`,
        io,
        storeFlag(store),
      ),
    );
  const rows = found.map((info) => ({ info, last: info.parent ?? '' }));
  await printStreams({ titles: ['RUN', 'WORKFLOW', 'OF'], rows, areMore }, io);
}
