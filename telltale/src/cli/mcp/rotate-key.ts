import { rotateKeys } from '../../mcp/server/continue-token.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../command.ts';
import { usage } from '../options.ts';
import { isInMemory, storeLocation } from '../session/store-options.ts';
import { withSessions } from '../session/with-runtime.ts';
import { jsonText } from '../view/json-text.ts';

export interface RotateOptions {
  readonly store?: string;
  readonly json?: true;
}

/** `telltale mcp rotate-key`. It never shows the keys. */
export async function rotateKey(options: RotateOptions, context: CommandContext): Promise<ExitCode> {
  const { io } = context;
  if (isInMemory(storeLocation(options.store, io)))
    throw usage(
      'A store in memory cannot keep a key.',
      'Name the store that "telltale mcp" serves: --store FILE.',
    );
  const store = options.store === undefined ? {} : { store: options.store };
  const { current, previous } = await withSessions(context, store, ({ store: { tables } }) =>
    rotateKeys(tables),
  );
  const before =
    previous === undefined ? '' : `; tokens of ${previous.id} stay valid until the next rotation`;
  await io.stdout.write(
    options.json === true
      ? jsonText({ key: current.id, previous: previous?.id ?? null }, 2)
      : `Tokens are signed with the new key ${current.id}${before}.\n`,
  );
  return EXIT.ok;
}
