import { type Command, Option } from 'commander';
import type { RegisterCommand } from '../command.ts';
import { noSubcommand, type WithOptions } from '../options.ts';
import { addStoreOption } from '../session/store-options.ts';
import type { TokenOptions } from '../token/tokens.ts';

const EXAMPLES = `
Every request to "telltale serve" needs a token. Roles: "read" can look, "run" can also
start, steer and answer, "admin" can also change agents, artifacts and tokens.
"telltale dev" and "telltale serve" create a token for you that is valid until they stop;
"link" prints it again. For everyone else, create one:

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
    .description('Creates and revokes access tokens of the server. Without a subcommand, lists them.')
    .option('--json', 'print JSON')
    .allowExcessArguments()
    .addHelpText('after', EXAMPLES)
    .action(
      context.run(async (options: TokenOptions, command: Command) => {
        const [asked] = command.args;
        if (asked !== undefined) throw noSubcommand(asked, command);
        return (await import('../token/tokens.ts')).listTokens(options, context);
      }),
    );
  addStoreOption(token.command('create'))
    .summary('create a token and show it once')
    .description('Creates a token and prints it. Only its hash is stored, so it cannot be shown again.')
    .argument('<name>', 'the name of its owner, for the audit: ann, ci')
    .addOption(
      new Option('--role <role>', 'what it allows').choices(['read', 'run', 'admin']).makeOptionMandatory(),
    )
    .option('--json', 'print {"name", "role", "token", "created"}')
    .action(
      context.run(async (name: string, _own: unknown, command: WithOptions) =>
        (await import('../token/tokens.ts')).createToken(
          name,
          command.optsWithGlobals<TokenOptions>(),
          context,
        ),
      ),
    );
  token
    .command('link')
    .summary('print the links of running servers')
    .description('Prints the links of your running servers, with their tokens. Open one in a browser.')
    .option('--json', 'print them as JSON')
    .action(
      context.run(async (_own: unknown, command: WithOptions) =>
        (await import('../token/tokens.ts')).printLinks(command.optsWithGlobals<TokenOptions>(), context),
      ),
    );
  addStoreOption(token.command('list'))
    .summary('list the tokens')
    .description('Lists the tokens: name, role, when each was made and last used.')
    .option('--json', 'print them as JSON')
    .action(
      context.run(async (_own: unknown, command: WithOptions) =>
        (await import('../token/tokens.ts')).listTokens(command.optsWithGlobals<TokenOptions>(), context),
      ),
    );
  addStoreOption(token.command('revoke'))
    .summary('revoke a token')
    .description('Revokes a token. Running servers refuse it within a second.')
    .argument('<name>', 'which one')
    .option('--json', 'print {"name", "revoked"}')
    .action(
      context.run(async (name: string, _own: unknown, command: WithOptions) =>
        (await import('../token/tokens.ts')).revokeToken(
          name,
          command.optsWithGlobals<TokenOptions>(),
          context,
        ),
      ),
    );
};
