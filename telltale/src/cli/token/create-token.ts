import type { Role } from '../../client/api.ts';
import { createAudit } from '../../server/auth/create-audit.ts';
import { createTokens } from '../../server/auth/create-tokens.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import type { StoreOption } from '../session/store-option.ts';
import { withSessions } from '../session/with-runtime.ts';
import { signer } from '../signer.ts';
import { timeText } from '../view/figures.ts';
import { jsonText } from '../view/json-line.ts';

export interface TokenOptions extends StoreOption {
  readonly role?: Role;
  readonly json?: true;
}

/** `telltale token create`. The token alone is on standard output, so that a script can keep it. */
export async function createToken(
  name: string,
  { role = 'read', json, ...options }: TokenOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { stdout, stderr, clock } = context.io;
  const by = signer();
  const { token, info } = await withSessions(context, options, async ({ store }) => {
    const created = await createTokens(store, clock).create(name, role, by);
    await createAudit(store).add({
      who: by,
      role: 'admin',
      what: 'telltale token create',
      about: name,
      status: 201,
    });
    return created;
  });
  if (json === true) {
    await stdout.write(jsonText({ name, role, token, created: timeText(info.createdAt) }, 2));
    return EXIT.ok;
  }
  await stdout.write(`${token}\n`);
  await stderr.write(
    `Token "${name}" has the role "${role}". Keep it: it is not shown again. Clients send it as\n  authorization: Bearer ${token}\n`,
  );
  return EXIT.ok;
}
