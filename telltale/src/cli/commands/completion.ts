import { suggest } from '../../lib/nearest.ts';
import type { RegisterCommand } from '../command.ts';
import { EXIT } from '../command.ts';
import { COMPLETION_SCRIPTS, SHELLS } from '../completion/complete.ts';
import { usage } from '../options.ts';

const EXAMPLES = `
Completes commands, options, manifests, sessions and kinds.

Examples:
  $ eval "$(telltale completion bash)"                 in ~/.bashrc
  $ eval "$(telltale completion zsh)"                  in ~/.zshrc, after compinit
  $ telltale completion fish > ~/.config/fish/completions/telltale.fish
`;

export const registerCompletion: RegisterCommand = (program, context) => {
  program
    .command('completion')
    .summary('print a completion script for your shell')
    .description('Prints a completion script for bash, zsh or fish.')
    .argument('<shell>', SHELLS.join(', '))
    .addHelpText('after', EXAMPLES)
    .action(
      context.run(async (asked: string) => {
        const shell = SHELLS.find((each) => each === asked);
        if (shell === undefined)
          throw usage(`There is no completion for '${asked}'.`, suggest(asked, SHELLS, 'Shells'));
        await context.io.stdout.write(COMPLETION_SCRIPTS[shell]);
        return EXIT.ok;
      }),
    );
};
