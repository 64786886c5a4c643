import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Runtime } from '../../session/runtime-types.ts';
import { withHeaders } from '../http/error-answer.ts';

/** For as long as a full fleet's clients are asked to wait. */
const RETRY_AFTER_S = '5';

/**
 * Where something new may begin. Throws `fleet_full` where that is nowhere, before anything is written. `id` is what it
 * is made under where a request may be one that was made before: what is there then needs no room.
 */
export async function admitted(
  { fleet, store }: Pick<Runtime, 'fleet' | 'store'>,
  id?: string,
): Promise<'here' | 'queue'> {
  if (fleet === undefined) return 'here';
  const admission = await fleet.admit();
  if (admission !== 'full') return admission;
  if (id !== undefined && ((await store.info(id))?.head ?? 0) > 0) return 'queue';
  throw fleetFull(fleet.name);
}

const fleetFull = (fleet: string) =>
  withHeaders(
    new RuntimeError('fleet_full', `All workers of the fleet "${fleet}" are busy, and so is its queue.`, {
      hint: 'Try again in some seconds, or start more workers: telltale worker. Nothing was begun.',
      retryable: true,
    }),
    { 'retry-after': RETRY_AFTER_S },
  );
