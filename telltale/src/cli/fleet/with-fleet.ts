import { toRuntimeError } from '../../kernel/runtime-error.ts';
import type { FleetDesk } from '../../session/fleet/fleet-desk.ts';
import { hasEnded, QUARANTINED, readQuarantine } from '../../store/quarantine.ts';
import type { Store, StreamInfo } from '../../store/store.ts';
import type { CommandContext } from '../command.ts';
import type { StoreOption } from '../session/store-option.ts';
import { withStoredSessions } from '../session/with-runtime.ts';
import type { ShownQuarantine } from '../view/status.ts';

/** Why a session or run is quarantined, and the command that releases it; undefined where it is not. */
export async function findQuarantine(
  store: Store,
  info: StreamInfo,
  onError: (thrown: unknown) => void,
): Promise<ShownQuarantine | undefined> {
  const { stream, kind } = info;
  if (info.status === QUARANTINED) {
    const noted = await readQuarantine(store, stream);
    const release = kind === 'run' ? `telltale workflow resume ${stream}` : `telltale resume ${stream}`;
    return { why: noted?.why ?? 'The store does not say why.', at: noted?.at ?? info.updatedAt, release };
  }
  if (store.shared === undefined || info.owner !== undefined || hasEnded(info)) return undefined;
  const { openFleetDesk } = await import('../../session/fleet/open-fleet-desk.ts');
  const desk = await openFleetDesk(store, onError);
  try {
    const aside = (await desk.status()).laidAside.find((each) => each.stream === stream);
    return aside && { why: aside.why, at: aside.at, release: `telltale fleet retry ${stream}` };
  } finally {
    await desk.close();
  }
}

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
