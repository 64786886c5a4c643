import type { EventType, SessionEvent } from '../../events/event.ts';
import { suggest } from '../../kernel/nearest.ts';
import { paletteFor } from '../colour.ts';
import type { CommandContext, RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { EVENT_TYPES } from '../session/event-types.ts';
import { findSession } from '../session/find-session.ts';
import { followLog } from '../session/follow-log.ts';
import { readLog } from '../session/read-log.ts';
import { SESSION_HELP } from '../session/session-help.ts';
import { sessionToResume } from '../session/session-to-resume.ts';
import { storeFlag } from '../session/store-location.ts';
import { addStoreOption } from '../session/store-option.ts';
import { withStoredSessions } from '../session/with-runtime.ts';
import { usage } from '../usage.ts';
import { createEventLines } from '../view/event-line.ts';
import { eventJson } from '../view/json-line.ts';
import { wholeNumber } from '../whole-number.ts';

interface Options {
  readonly store?: string;
  readonly follow?: true;
  readonly from?: string;
  readonly type?: string;
  readonly json?: true;
}

/** Of a line in a pipe: what is longer is for --json. */
const PIPE_COLUMNS = 400;

const EXAMPLES = `
${SESSION_HELP}

Examples:
  $ telltale logs last
  $ telltale logs last -f                        until it ends, whoever runs it
  $ telltale logs last --type fault,action       faults and all events of actions
  $ telltale logs last --json | jq -c 'select(.type == "action.completed") | .output'
`;

export const registerLogs: RegisterCommand = (program, context) => {
  addStoreOption(program.command('logs'))
    .summary('print the events of a session; -f follows it')
    .description('Prints the events of a session, a line each.')
    .argument('<session>', 'which one')
    .option('-f, --follow', 'go on until the session ends')
    .option('--from <n>', 'begin with event n')
    .option('--type <types>', 'only these types, or groups of types; several with commas')
    .option('--json', 'print events as JSON, one a line')
    .addHelpText('after', EXAMPLES)
    .action(context.run((session: string, options: Options) => logs(session, options, context)));
};

async function logs(asked: string, options: Options, context: CommandContext): Promise<ExitCode> {
  const { io } = context;
  const { stdout, stderr } = io;
  const from = options.from === undefined ? 1 : wholeNumber('--from', options.from);
  const wanted = options.type === undefined ? undefined : readTypes(options.type);
  return withStoredSessions(context, options, async ({ store }) => {
    const { stream, owner, status } = await findSession(store, asked);
    const line = createEventLines({ columns: stdout.columns ?? PIPE_COLUMNS, paint: paletteFor(stdout) });
    const print = async (event: SessionEvent) => {
      // The lines know the names of actions and when it all began from events that are not shown themselves.
      const text = options.json === true ? eventJson(event) : `${line(event)}\n`;
      if (event.seq >= from && (wanted?.has(event.type) ?? true)) await stdout.write(text);
      return !stdout.closed && !io.signal.aborted;
    };
    const isLeft = options.follow === true && status === 'running' && owner === undefined;
    if (isLeft && options.json !== true) {
      const resume = `telltale resume ${await sessionToResume(store, stream)}${storeFlag(options.store)}`;
      await stderr.write(`Nobody works on ${stream} now. It goes on with: ${resume}\n`);
    }
    if (options.follow === true) await followLog(store, stream, print, io);
    else for await (const event of readLog(store, stream)) if (!(await print(event))) break;
    return EXIT.ok;
  });
}

function readTypes(text: string): ReadonlySet<EventType> {
  const wanted = new Set<EventType>();
  for (const asked of text.split(',').map((each) => each.trim())) {
    const found = EVENT_TYPES.filter((type) => type === asked || type.startsWith(`${asked}.`));
    if (found.length === 0)
      throw usage(`There is no type of event '${asked}'.`, suggest(asked, EVENT_TYPES, 'Types'));
    for (const type of found) wanted.add(type);
  }
  return wanted;
}
