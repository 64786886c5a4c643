import type { EventBody } from '../../events/event.ts';
import { leftOpen } from '../../protocol/tags/faults.ts';
import type { Groups } from './groups.ts';
import { keptFromActing } from './kept-from-acting.ts';

export type FaultBody = Extract<EventBody, { readonly type: 'fault' }>;

/** What is around it ended: all that stood in it has been read. */
const ENDED_BY_ANOTHER = leftOpen('parallel').message;

/** Whether a `<parallel>` is closed behind it that has no end tag, but what follows it. */
export const endsWithoutTag = ({ message }: { readonly message: string }): boolean =>
  message === ENDED_BY_ANOTHER;

/**
 * The event of a fault, with the `<parallel>`s that it stands in where it kept something from acting and none before it did.
 * Who depends on one of them means all that was asked for there, and must not begin because the rest succeeded.
 */
export function faultIn(
  within: Pick<Groups, 'groups' | 'spoilt'>,
  { code, message }: { readonly code: string; readonly message: string },
): FaultBody {
  const { groups, spoilt } = within;
  const isWhole =
    groups.length === spoilt || message === ENDED_BY_ANOTHER || keptFromActing([{ code }]).length === 0;
  if (isWhole) return { type: 'fault', code, message };
  within.spoilt = groups.length;
  return { type: 'fault', code, message, groups: groups.slice(spoilt) };
}
