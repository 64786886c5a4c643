import type { TokenInfo } from '../../client/api.ts';
import { identityText } from '../../kernel/identity.ts';
import { createTokens } from '../../server/auth/create-tokens.ts';
import { paletteFor } from '../colour.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { shownLocation, storeExists, storeFlag, storeLocation } from '../session/store-location.ts';
import { withSessions } from '../session/with-runtime.ts';
import { brief } from '../view/brief.ts';
import { agoText, countText, timeText } from '../view/figures.ts';
import { spelledOut } from '../view/harmless.ts';
import { jsonText } from '../view/json-line.ts';
import { type Column, tableLines } from '../view/table.ts';
import type { TokenOptions } from './create-token.ts';

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
