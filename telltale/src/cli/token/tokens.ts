import type { Role, TokenInfo } from '../../client/api.ts';
import { RuntimeError } from '../../lib/errors.ts';
import { identityText } from '../../lib/ids.ts';
import { suggest } from '../../lib/nearest.ts';
import { createAudit } from '../../server/auth/audit.ts';
import { createTokens } from '../../server/auth/tokens.ts';
import { type CommandContext, EXIT, type ExitCode } from '../command.ts';
import { type DaemonFile, readDaemonFiles } from '../daemon-files.ts';
import { paletteFor } from '../io.ts';
import { signer } from '../program.ts';
import {
  type StoreOption,
  shownLocation,
  storeExists,
  storeFlag,
  storeLocation,
} from '../session/store-options.ts';
import { withSessions, withStoredSessions } from '../session/with-runtime.ts';
import { agoText, countText, timeText } from '../view/figures.ts';
import { spelledOut } from '../view/harmless.ts';
import { jsonText } from '../view/json-text.ts';
import { brief, type Column, tableLines } from '../view/text-width.ts';

const MAX_NAME = 80;

const COLUMNS: readonly Column[] = [
  { title: 'NAME', gives: true },
  { title: 'ROLE' },
  { title: 'CREATED' },
  { title: 'BY' },
  { title: 'LAST USED' },
];

/** `telltale token list`. */
export async function listTokens(options: TokenOptions, context: CommandContext): Promise<ExitCode> {
  const { io } = context;
  const { stdout, clock, program } = io;
  const location = storeLocation(options.store, io);
  const found = storeExists(location, io)
    ? await withSessions(context, { ...options, mustExist: true }, ({ store }) =>
        createTokens(store, clock).list(),
      )
    : [];
  if (options.json === true) {
    await stdout.write(jsonText(found.map(tokenJson), 2));
    return EXIT.ok;
  }
  if (found.length === 0) {
    const flag = storeFlag(options.store);
    await stdout.write(
      `There are no tokens in ${shownLocation(location)}. Make one: ${program} token create NAME --role run${flag}\n`,
    );
    return EXIT.ok;
  }
  const now = clock.now();
  const paint = paletteFor(stdout);
  const rows = found.map(({ name, role, createdAt, createdBy = '', lastUsedAt, claims }) => [
    claims === undefined
      ? name
      : `${name} (signs as ${claims === '' ? 'nobody' : brief(spelledOut(claims), MAX_NAME)})`,
    brief(spelledOut(role), MAX_NAME),
    claims === undefined ? agoText(now - createdAt) : 'unknown',
    brief(spelledOut(identityText(createdBy)), MAX_NAME),
    lastUsedAt === undefined ? 'never' : agoText(now - lastUsedAt),
  ]);
  const lines = [
    ...tableLines(COLUMNS, rows, {
      columns: stdout.columns,
      paint: (text, row) => (row === -1 ? paint.dim(text) : text),
    }),
  ];
  const strays = found.filter(({ claims }) => claims !== undefined);
  if (strays.length > 0)
    lines.push(
      paint.yellow(
        `${countText(strays.length, 'token is', 'tokens are')} valid and were not made by "telltale token create". Revoke what you do not know: ${program} token revoke ${strays[0]?.name}${storeFlag(options.store)}`,
      ),
    );
  await stdout.write(`${lines.join('\n')}\n`);
  return EXIT.ok;
}

const tokenJson = ({ name, role, createdAt, createdBy, lastUsedAt, claims }: TokenInfo) => ({
  name,
  role,
  created: claims === undefined ? timeText(createdAt) : null,
  createdBy: createdBy ?? null,
  lastUsed: lastUsedAt === undefined ? null : timeText(lastUsedAt),
  ...(claims === undefined ? {} : { claims }),
});

export interface TokenOptions extends StoreOption {
  readonly role?: Role;
  readonly json?: true;
}

/** `telltale token create`. Standard output contains only the token, for scripts. */
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

/** `telltale token link`: the links of this user's running daemons, newest first. */
export async function printLinks(
  { json }: { readonly json?: true },
  { io }: CommandContext,
): Promise<ExitCode> {
  const daemons = await readDaemonFiles(io);
  if (daemons.length === 0) throw noDaemon();
  await io.stdout.write(
    json === true
      ? jsonText(
          daemons.map((daemon) => ({ ...daemon, link: linkOf(daemon) })),
          2,
        )
      : daemons.map((daemon) => `${linkOf(daemon)}\n`).join(''),
  );
  return EXIT.ok;
}

/** The console's address with the token. An MCP server has no page and ignores the part after `#`. */
const linkOf = ({ url, token }: DaemonFile): string =>
  `${url}${new URL(url).pathname === '/' ? '/' : ''}#token=${token}`;

const noDaemon = () =>
  new RuntimeError('no_daemon', 'No server of this user is running on this machine.', {
    hint: 'Start one: telltale dev, or telltale serve',
  });
