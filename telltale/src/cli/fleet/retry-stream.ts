import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { asTyped } from '../session/naming-store.ts';
import { storeFlag } from '../session/store-location.ts';
import { jsonText } from '../view/json-line.ts';
import type { FleetOptions } from './show-fleet.ts';
import { withFleet } from './with-fleet.ts';

/** `telltale fleet retry`. */
export async function retryStream(
  stream: string,
  options: FleetOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { io } = context;
  await withFleet(context, options, (fleet) => fleet.retry(stream));
  await io.stdout.write(
    options.json === true
      ? jsonText({ stream, offered: true })
      : `${stream} can be worked on again. ${asTyped('To watch it: telltale fleet', io, storeFlag(options.store))}\n`,
  );
  return EXIT.ok;
}
