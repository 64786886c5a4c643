import type { CommandContext, RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../command.ts';
import type { PromptCommandOptions } from '../prompt/print-prompt.ts';
import { SESSION_HELP } from '../session/find-session.ts';
import { addStoreOption } from '../session/store-options.ts';
import { withStoredSessions } from '../session/with-runtime.ts';

const EXAMPLES = `
${SESSION_HELP}
An argument that ends with .yml, .yaml or .json, or contains a slash, is the manifest of
an AGENT. Everything else is a session.
The prompt is rebuilt from the log, with the current manifest. The log has a hash of what
was sent. If the rebuilt prompt differs, the first lines say so.

Examples:
  $ telltale prompt last                       the latest turn
  $ telltale prompt last 3 | less
  $ telltale prompt agent.yml                  before any run
  $ telltale prompt last --json | jq .tokens
`;

export const registerPrompt: RegisterCommand = (program, context) => {
  addStoreOption(program.command('prompt'))
    .summary('show what the model was asked in a turn, or would be asked')
    .description(
      "Shows the prompt of a turn: messages, tools, options, tokens by part, what is new since the previous turn, and what came from the provider's cache. For an agent, shows the prompt of its first turn.",
    )
    .argument('<session-or-agent>', 'a session, or the manifest of an agent')
    .argument('[turn]', "the turn's number (default: the latest)")
    .option('--manifest <file>', "the agent's manifest, if it has moved since")
    .option('--json', 'print it as JSON')
    .addHelpText('after', EXAMPLES)
    .action(
      context.run((asked: string, turn: string | undefined, options: PromptCommandOptions) =>
        prompt(asked, turn, options, context),
      ),
    );
};

async function prompt(
  asked: string,
  turn: string | undefined,
  options: PromptCommandOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { printPreview, printPrompt, isManifest } = await import('../prompt/print-prompt.ts');
  if (isManifest(asked)) return printPreview(asked, turn, options, context);
  await withStoredSessions(context, options, ({ store }) =>
    printPrompt(store, asked, turn, options, context),
  );
  return EXIT.ok;
}
