import { added } from '../../kernel/grow.ts';
import { giveBackIds } from '../../protocol/envelope/id-book.ts';
import type { ParserEvent } from '../../protocol/intents.ts';
import type { SessionContext } from '../context.ts';
import { takenIds } from '../taken-ids.ts';
import type { Hearing } from './hearing-state.ts';

/** What the parser gave ids to does not count: a branch that does not hold, what follows a final response, a fault. */
export function noteUnused(hearing: Hearing, event: ParserEvent): void {
  if (event.type === 'action') note(hearing, event.id);
  else if (event.type === 'foreach') for (const { id } of event.actions) note(hearing, id);
  else if (event.type === 'parallel' && event.body === 'open' && event.id !== undefined)
    note(hearing, event.id);
}

function note(hearing: Hearing, id: string): void {
  hearing.unused = added(hearing.unused, id);
}

/**
 * At the end of a turn: frees the ids of which nothing has come to be on the log. After a restart nobody would know of
 * them either, and the turn, read again, must give out the same ones.
 */
export function freeUnused({ context, unused }: Hearing): void {
  if (unused.length > 0) free(context, unused);
}

/** The same where nobody knows what was read and not acted on. */
export const freeUnread = (context: SessionContext): void => free(context, [...context.ids]);

function free({ ids, state }: SessionContext, given: readonly string[]): void {
  const taken = takenIds(state);
  giveBackIds(
    ids,
    given.filter((id) => !taken.has(id)),
  );
}
