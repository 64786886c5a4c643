import { toRuntimeError } from '../../kernel/runtime-error.ts';
import type { FleetDesk } from '../../session/fleet/fleet-desk.ts';
import type { CommandContext } from '../command.ts';
import type { StoreOption } from '../session/store-option.ts';
import { withStoredSessions } from '../session/with-runtime.ts';

/** Opens the store to look at its fleet, and closes it. */
export function withFleet<T>(
  context: CommandContext,
  options: StoreOption,
  work: (fleet: FleetDesk) => Promise<T>,
): Promise<T> {
  return withStoredSessions(context, options, async ({ store }) => {
    const { openFleetDesk } = await import('../../session/fleet/open-fleet-desk.ts');
    const onError = (thrown: unknown) => void context.io.stderr.write(`${toRuntimeError(thrown).message}\n`);
    const desk = await openFleetDesk(store, onError);
    try {
      return await work(desk);
    } finally {
      await desk.close();
    }
  });
}
