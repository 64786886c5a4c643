import { type Command, Option } from 'commander';
import type { RegisterCommand } from '../command.ts';
import { addStoreOption } from '../session/store-option.ts';
import { noSubcommand, type WithOptions } from '../subcommand.ts';
import type { TokenOptions } from '../token/create-token.ts';

const EXAMPLES = `
A token lets whoever has it use "telltale serve" on this store. Roles: "read" looks, "run"
also starts, steers and answers, "admin" also changes agents, artifacts and tokens.
Every request needs a token. "telltale dev" and "telltale serve" make one for whoever starts
them, which ends with them: "link" prints it again. For all others:

Examples:
  $ telltale token create ann --role admin
  $ TOKEN=$(telltale token create ci --role run)
  $ telltale token link
  $ telltale token list
  $ telltale token revoke ci
`;

export const registerToken: RegisterCommand = (program, context) => {
  const token = addStoreOption(program.command('token'))
    .summary('manage access tokens of the server')
    .description('Makes and revokes the tokens that clients of the server send. Without more, lists them.')
    .option('--json', 'print JSON')
    .allowExcessArguments()
    .addHelpText('after', EXAMPLES)
    .action(
      context.run(async (options: TokenOptions, command: Command) => {
        const [asked] = command.args;
        if (asked !== undefined) throw noSubcommand(asked, command);
        return (await import('../token/list-tokens.ts')).listTokens(options, context);
      }),
    );
  addStoreOption(token.command('create'))
    .summary('make one, and show it once')
    .description('Makes a token and prints it. Only its hash is kept: it cannot be shown again.')
    .argument('<name>', 'whose it is, for the audit: ann, ci')
    .addOption(
      new Option('--role <role>', 'what it allows').choices(['read', 'run', 'admin']).makeOptionMandatory(),
    )
    .option('--json', 'print {"name", "role", "token", "created"}')
    .action(
      context.run(async (name: string, _own: unknown, command: WithOptions) =>
        (await import('../token/create-token.ts')).createToken(
          name,
          command.optsWithGlobals<TokenOptions>(),
          context,
        ),
      ),
    );
  token
    .command('link')
    .summary('print the links of running servers')
    .description(
      'Prints the link of each server of this user that runs, with its token: open it in a browser.',
    )
    .option('--json', 'print them as JSON')
    .action(
      context.run(async (_own: unknown, command: WithOptions) =>
        (await import('../token/link-token.ts')).printLinks(command.optsWithGlobals<TokenOptions>(), context),
      ),
    );
  addStoreOption(token.command('list'))
    .summary('say which there are')
    .description('Lists the tokens: name, role, when each was made and last used.')
    .option('--json', 'print them as JSON')
    .action(
      context.run(async (_own: unknown, command: WithOptions) =>
        (await import('../token/list-tokens.ts')).listTokens(
          command.optsWithGlobals<TokenOptions>(),
          context,
        ),
      ),
    );
  addStoreOption(token.command('revoke'))
    .summary('make one useless')
    .description('Revokes a token: a server that runs refuses it from the next second on.')
    .argument('<name>', 'which one')
    .option('--json', 'print {"name", "revoked"}')
    .action(
      context.run(async (name: string, _own: unknown, command: WithOptions) =>
        (await import('../token/revoke-token.ts')).revokeToken(
          name,
          command.optsWithGlobals<TokenOptions>(),
          context,
        ),
      ),
    );
};
