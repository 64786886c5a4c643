import type { Store, StreamInfo } from '../../store/store.ts';
import type { CommandContext, RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../command.ts';
import type { Io } from '../io.ts';
import { wholeNumber } from '../options.ts';
import {
  addStoreOption,
  asTyped,
  shownLocation,
  storeExists,
  storeFlag,
  storeLocation,
} from '../session/store-options.ts';
import {
  type ListedSession,
  printStreams,
  readStatuses,
  sessionTrees,
  streamJson,
} from '../session/stream-table.ts';
import { withSessions } from '../session/with-runtime.ts';
import { jsonText } from '../view/json-text.ts';
import { STATUSES, shownStatus } from '../view/status.ts';

interface SessionsOptions {
  readonly store?: string;
  readonly status?: string;
  readonly limit?: string;
  readonly runs?: true;
  readonly json?: true;
}

const DEFAULT_LIMIT = 20;
/** How many sessions are searched for those with a status. */
const MAX_SEARCHED = 10_000;

const EXAMPLES = `
Statuses: ${STATUSES.join(', ')}. "interrupted" is one
that nobody works on now and that can be resumed.

Examples:
  $ telltale sessions
  $ telltale sessions --status running,waiting
  $ telltale sessions --runs
  $ telltale sessions --limit 1 --json | jq -r '.[0].session'
`;

export const registerSessions: RegisterCommand = (program, context) => {
  addStoreOption(program.command('sessions'))
    .summary('list sessions, newest first')
    .description('Lists sessions, newest first. Sessions of called agents are listed below their caller.')
    .option('--status <status>', 'only this status; separate several with commas')
    .option('--limit <n>', `how many to list, not counting called agents (default: ${DEFAULT_LIMIT})`)
    .option('--runs', 'also list the workflow runs that each session triggered or called')
    .option('--json', 'print them as JSON')
    .addHelpText('after', EXAMPLES)
    .action(context.run((options: SessionsOptions) => sessions(options, context)));
};

async function sessions(options: SessionsOptions, context: CommandContext): Promise<ExitCode> {
  const { io } = context;
  const limit = options.limit === undefined ? DEFAULT_LIMIT : wholeNumber('--limit', options.limit);
  const statuses = options.status === undefined ? undefined : readStatuses(options.status, STATUSES);
  const location = storeLocation(options.store, io);
  const found = storeExists(location, io)
    ? await withSessions(
        context,
        { ...(options.store === undefined ? {} : { store: options.store }), mustExist: true },
        ({ store }) => listAll(store, statuses === undefined ? limit : MAX_SEARCHED, options.runs === true),
      )
    : [];
  const matching = found.filter((each) => statuses?.has(shownStatus(each)) ?? true);
  const trees = sessionTrees(matching);
  const shown = trees.slice(0, limit).flat();
  await (options.json === true
    ? io.stdout.write(
        jsonText(
          shown.map(({ info }) => streamJson(info)),
          2,
        ),
      )
    : print(shown, trees.length > limit, options, io));
  return EXIT.ok;
}

/** Sessions, and the runs of those. */
async function listAll(store: Store, limit: number, withRuns: boolean): Promise<readonly StreamInfo[]> {
  const sessions = await listEnough(store, limit);
  if (!withRuns) return sessions;
  const runs = await store.list({ kind: 'run', limit: MAX_SEARCHED });
  return [...sessions, ...withParents(runs, sessions)];
}

/** The runs that one of the sessions, or another of their runs, has started. */
function withParents(runs: readonly StreamInfo[], sessions: readonly StreamInfo[]): readonly StreamInfo[] {
  const known = new Set(sessions.map(({ stream }) => stream));
  // A caller is older than what it called.
  return runs.toReversed().filter(({ stream, parent }) => {
    const isTheirs = parent !== undefined && known.has(parent);
    if (isTheirs) known.add(stream);
    return isTheirs;
  });
}

/** Reads the newest sessions until more than `limit` of them are not sub-agents, or until there are no more. */
async function listEnough(store: Store, limit: number): Promise<readonly StreamInfo[]> {
  for (let asked = limit + 1; ; asked *= 4) {
    const found = await store.list({ kind: 'session', limit: Math.min(asked, MAX_SEARCHED) });
    const own = found.filter(({ parent }) => parent === undefined).length;
    if (own > limit || found.length < asked || asked >= MAX_SEARCHED) return found;
  }
}

async function print(
  found: readonly ListedSession[],
  areMore: boolean,
  { store }: SessionsOptions,
  io: Io,
): Promise<void> {
  if (found.length === 0)
    return io.stdout.write(
      asTyped(
        `No sessions in ${shownLocation(storeLocation(store, io))}. Start one: telltale run MANIFEST "what to do"\n`,
        io,
        storeFlag(store),
      ),
    );
  const rows = found.map(({ info, depth }) => ({ info, depth, last: info.title }));
  await printStreams({ titles: ['SESSION', 'AGENT', 'INPUT'], rows, areMore }, io);
}
