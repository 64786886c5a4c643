import { eventUnknown, readLog } from '../../agent/log/read-log.ts';
import type { CommandContext, RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../command.ts';
import type { Io } from '../io.ts';
import { usage, wholeNumber } from '../options.ts';
import { eachEvent, type Pace, playLog } from '../run/play-log.ts';
import { findSession, SESSION_HELP } from '../session/find-session.ts';
import { addStoreOption } from '../session/store-options.ts';
import { withStoredSessions } from '../session/with-runtime.ts';
import { eventJson } from '../view/json-text.ts';

interface ReplayOptions {
  readonly store?: string;
  readonly to?: string;
  readonly step?: true;
  readonly speed?: string;
  readonly instant?: true;
  readonly json?: true;
}

const EXAMPLES = `
${SESSION_HELP} In a pipe it
prints everything at once.

Examples:
  $ telltale replay last                at the original speed
  $ telltale replay last --speed 4      four times as fast
  $ telltale replay last --step         event by event, with Enter
  $ telltale replay last --to 20        up to event 20
`;

export const registerReplay: RegisterCommand = (program, context) => {
  addStoreOption(program.command('replay'))
    .summary('watch a session again, at any speed or step by step')
    .description('Shows a session again from its log, as the live view did. Nothing is run.')
    .argument('<session>', 'which one')
    .option('--to <n>', 'stop after event n')
    .option('--step', 'wait for Enter before each event')
    .option('--speed <x>', 'playback speed (default: 1)')
    .option('--instant', 'show everything at once')
    .option('--json', 'print the events as JSON, one per line')
    .addHelpText('after', EXAMPLES)
    .action(context.run((session: string, options: ReplayOptions) => replay(session, options, context)));
};

async function replay(asked: string, options: ReplayOptions, context: CommandContext): Promise<ExitCode> {
  const { io } = context;
  const last = options.to === undefined ? undefined : wholeNumber('--to', options.to);
  const pace = readPace(options, io);
  return withStoredSessions(context, options, async ({ store }) => {
    const { stream, head } = await findSession(store, asked);
    if (last !== undefined && last > head) throw eventUnknown(stream, last, head);
    const to = last ?? head;
    const events = readLog(store, stream, { to });
    if (options.json === true)
      await eachEvent(events, io, async (event) => {
        await io.stdout.write(eventJson(event));
        return true;
      });
    else await playLog(events, { pace, head, io });
    return EXIT.ok;
  });
}

function readPace(options: ReplayOptions, { stdout, stdin }: Io): Pace {
  const asked = (['step', 'speed', 'instant'] as const).filter((name) => options[name] !== undefined);
  if (asked.length > 1)
    throw usage(`'--${asked[0]}' and '--${asked[1]}' cannot be used together.`, 'Use only one of them.');
  if (options.step === true) {
    if (stdout.isTerminal && stdin.isTerminal) return { kind: 'step' };
    throw usage("'--step' needs a terminal.", 'Leave it out: in a pipe all events are printed at once.');
  }
  const speed = Number(options.speed ?? 1);
  if (!(speed > 0 && Number.isFinite(speed)))
    throw usage(`--speed '${options.speed}' is not a number above 0.`, 'Write --speed 2 for twice as fast.');
  return options.instant === true || !stdout.isTerminal ? { kind: 'instant' } : { kind: 'timed', speed };
}
