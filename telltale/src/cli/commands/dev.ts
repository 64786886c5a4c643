import type { RegisterCommand } from '../command.ts';
import type { ServeOptions } from '../serve/serve.ts';
import { addStoreOption } from '../session/store-options.ts';

const EXAMPLES = `
Serves the agents of a folder on this machine, with the console. Manifests are reloaded
when they change. If a change has a mistake, the mistake is shown and the previous version
stays in use. If the folder has no agent, it serves a sample agent that needs no key.

Examples:
  $ telltale dev
  $ telltale dev agents/
  $ telltale dev --port 0
`;

export const registerDev: RegisterCommand = (program, context) => {
  addStoreOption(program.command('dev'))
    .summary('serve the agents of a folder with the console, and reload them as you edit')
    .description('Serves a folder’s agents with the console, and reloads manifests when they change.')
    .argument('[dir]', 'a folder with agents, or a manifest (default: this folder)')
    .option(
      '--port <number>',
      'the port to listen on, 0 for a free one (default: 4800, or the next free one)',
    )
    .option('--json', 'print {"url", "port", "token", "link"} as JSON')
    .addHelpText('after', EXAMPLES)
    .action(
      context.run(async (dir: string | undefined, options: ServeOptions) =>
        (await import('../serve/serve.ts')).dev(dir, options, context),
      ),
    );
};
