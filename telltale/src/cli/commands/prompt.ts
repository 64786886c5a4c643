import type { CommandContext, RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import type { PromptOptions } from '../prompt/print-prompt.ts';
import { SESSION_HELP } from '../session/session-help.ts';
import { addStoreOption } from '../session/store-option.ts';
import { withStoredSessions } from '../session/with-runtime.ts';

const EXAMPLES = `
${SESSION_HELP}
What ends with .yml, .yaml or .json, or has a slash in it, is the manifest of an AGENT:
its prompt is shown as it is before any run. Everything else is a session.
TURN is the number of one of its turns; without it, the newest is shown.
The prompt is rebuilt from the log, with the manifest as it is now. The log has a hash
of what was sent: where the rebuilt prompt differs, the first lines say so.

Examples:
  $ telltale prompt last                       what the model was asked last
  $ telltale prompt last 3 | less
  $ telltale prompt agent.yml                  before any run
  $ telltale prompt last --json | jq .tokens
`;

export const registerPrompt: RegisterCommand = (program, context) => {
  addStoreOption(program.command('prompt'))
    .summary('show what the model was asked in a turn, or would be asked')
    .description(
      "Shows what the model was asked in a turn of a session: messages, tools, options, tokens by part, what is new since the turn before, and what the provider's cache served. Of an agent, it shows the prompt before any run.",
    )
    .argument('<session-or-agent>', 'a session, or the manifest of an agent')
    .argument('[turn]', 'which of its turns (default: the newest)')
    .option('--manifest <file>', "where the session's agent is now, if its manifest has moved")
    .option('--json', 'print it as JSON')
    .addHelpText('after', EXAMPLES)
    .action(
      context.run((asked: string, turn: string | undefined, options: PromptOptions) =>
        prompt(asked, turn, options, context),
      ),
    );
};

async function prompt(
  asked: string,
  turn: string | undefined,
  options: PromptOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { printPreview, printPrompt, isManifest } = await import('../prompt/print-prompt.ts');
  if (isManifest(asked)) return printPreview(asked, turn, options, context);
  await withStoredSessions(context, options, ({ store }) =>
    printPrompt(store, asked, turn, options, context),
  );
  return EXIT.ok;
}
