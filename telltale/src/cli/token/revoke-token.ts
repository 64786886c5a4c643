import { suggest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { createAudit } from '../../server/auth/create-audit.ts';
import { createTokens } from '../../server/auth/create-tokens.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { withStoredSessions } from '../session/with-runtime.ts';
import { signer } from '../signer.ts';
import { jsonText } from '../view/json-line.ts';
import type { TokenOptions } from './create-token.ts';

/** `telltale token revoke`. */
export async function revokeToken(
  name: string,
  options: TokenOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { stdout, clock } = context.io;
  await withStoredSessions(context, options, async ({ store }) => {
    const tokens = createTokens(store, clock);
    if (await tokens.revoke(name)) {
      const what = 'telltale token revoke';
      return createAudit(store).add({ who: signer(), role: 'admin', what, about: name, status: 204 });
    }
    throw tokenUnknown(
      name,
      (await tokens.list()).map((each) => each.name),
    );
  });
  await stdout.write(
    options.json === true ? jsonText({ name, revoked: true }, 2) : `Token "${name}" is revoked.\n`,
  );
  return EXIT.ok;
}

const tokenUnknown = (asked: string, known: readonly string[]) =>
  new RuntimeError('token_unknown', `There is no token named '${asked}'.`, {
    hint: suggest(asked, known, 'Tokens'),
  });
