import { causeChain } from '../../agent/log/read-log.ts';
import type { CommandContext, RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../command.ts';
import { paletteFor } from '../io.ts';
import { wholeNumber } from '../options.ts';
import { findStream, SEQ_HELP } from '../session/find-session.ts';
import { addStoreOption, eventAsTyped, storeFlag } from '../session/store-options.ts';
import { withStoredSessions } from '../session/with-runtime.ts';
import { causeLines } from '../view/closing-lines.ts';
import { eventJson, jsonText } from '../view/json-text.ts';

interface WhyOptions {
  readonly store?: string;
  readonly json?: true;
}

const DEFAULT_COLUMNS = 200;

const EXAMPLES = `
${SEQ_HELP}

Examples:
  $ telltale why last 12
  $ telltale why last 12 --json | jq -r '.[].type'
`;

export const registerWhy: RegisterCommand = (program, context) => {
  addStoreOption(program.command('why'))
    .summary('explain what caused an event')
    .description(
      'Shows what caused an event, and what caused that, back to the start, across sessions and workflow runs.',
    )
    .argument('<session>', 'which one')
    .argument('<seq>', 'the number of the event')
    .option('--json', 'print the events as a JSON list, the one you asked about first')
    .addHelpText('after', EXAMPLES)
    .action(
      context.run((session: string, seq: string, options: WhyOptions) => why(session, seq, options, context)),
    );
};

async function why(
  asked: string,
  text: string,
  options: WhyOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { stdout } = context.io;
  const seq = wholeNumber('SEQ', text);
  return withStoredSessions(context, options, async ({ store }) => {
    const { stream, head } = await findStream(store, asked);
    const chain = await causeChain(store, stream, seq, head);
    const flag = storeFlag(options.store);
    const events = chain.events.map((event) => eventAsTyped(event, context.io, flag));
    const lines = causeLines(
      { ...chain, events },
      {
        columns: stdout.columns ?? DEFAULT_COLUMNS,
        paint: paletteFor(stdout),
      },
    );
    await stdout.write(
      options.json === true
        ? jsonText(
            chain.events.map((event) => JSON.parse(eventJson(event))),
            2,
          )
        : `${lines.join('\n')}\n`,
    );
    return EXIT.ok;
  });
}
