import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Runtime } from '../../session/runtime-types.ts';
import { withHeaders } from '../http/error-answer.ts';

/** For as long as a full fleet's clients are asked to wait. */
const RETRY_AFTER_S = '5';

/** Where something new may begin. Throws `fleet_full` where that is nowhere, before anything is written. */
export async function admitted({ fleet }: Pick<Runtime, 'fleet'>): Promise<'here' | 'queue'> {
  if (fleet === undefined) return 'here';
  const admission = await fleet.admit();
  if (admission === 'full') throw fleetFull(fleet.name);
  return admission;
}

const fleetFull = (fleet: string) =>
  withHeaders(
    new RuntimeError('fleet_full', `All workers of the fleet "${fleet}" are busy, and so is its queue.`, {
      hint: 'Try again in some seconds, or start more workers: telltale worker. Nothing was begun.',
      retryable: true,
    }),
    { 'retry-after': RETRY_AFTER_S },
  );
