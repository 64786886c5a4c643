import type { TokenInfo } from '../../client/api.ts';
import { identityText } from '../../kernel/identity.ts';
import { createTokens } from '../../server/auth/create-tokens.ts';
import { paletteFor } from '../colour.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { shownLocation, storeExists, storeFlag, storeLocation } from '../session/store-location.ts';
import { withSessions } from '../session/with-runtime.ts';
import { agoText, timeText } from '../view/figures.ts';
import { harmlessLine } from '../view/harmless.ts';
import { jsonText } from '../view/json-line.ts';
import { type Column, tableLines } from '../view/table.ts';
import type { TokenOptions } from './create-token.ts';

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
  const { stdout, clock } = io;
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
      `There are no tokens in ${shownLocation(location)}. Make one: telltale token create NAME --role run${flag}\n`,
    );
    return EXIT.ok;
  }
  const now = clock.now();
  const paint = paletteFor(stdout);
  const rows = found.map(({ name, role, createdAt, createdBy = '', lastUsedAt }) => [
    name,
    role,
    agoText(now - createdAt),
    harmlessLine(identityText(createdBy)),
    lastUsedAt === undefined ? 'never' : agoText(now - lastUsedAt),
  ]);
  const lines = tableLines(COLUMNS, rows, {
    columns: stdout.columns,
    paint: (text, row) => (row === -1 ? paint.dim(text) : text),
  });
  await stdout.write(`${lines.join('\n')}\n`);
  return EXIT.ok;
}

const tokenJson = ({ name, role, createdAt, createdBy, lastUsedAt }: TokenInfo) => ({
  name,
  role,
  created: timeText(createdAt),
  createdBy: createdBy ?? null,
  lastUsed: lastUsedAt === undefined ? null : timeText(lastUsedAt),
});
