import type { EventBody } from '../../events/event.ts';
import { leftOpen } from '../../protocol/tags/faults.ts';
import type { Groups } from './groups.ts';
import { keptFromActing } from './kept-from-acting.ts';

export type FaultBody = Extract<EventBody, { readonly type: 'fault' }>;

/** What is around it ended: all that stood in it has been read. */
const ENDED_BY_ANOTHER = leftOpen('parallel').message;

/**
 * The event of a fault, with the `<parallel>`s that it stands in where it kept something from acting. Who depends on one of
 * them means all that was asked for there, and must not begin because the rest succeeded.
 */
export function faultIn(
  { groups }: Pick<Groups, 'groups'>,
  { code, message }: { readonly code: string; readonly message: string },
): FaultBody {
  const isWhole =
    groups.length === 0 || message === ENDED_BY_ANOTHER || keptFromActing([{ code }]).length === 0;
  return isWhole ? { type: 'fault', code, message } : { type: 'fault', code, message, groups: [...groups] };
}
