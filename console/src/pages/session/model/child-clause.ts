import type { EventOf, SessionEvent } from '../../../../../telltale/src/events/event.ts';

type ChildEvent = Extract<SessionEvent, { readonly type: `child.${string}` }>;

/** What happened in a sub-agent, told on its parent's log. */
export function childClause(event: ChildEvent, clauseOf: (event: SessionEvent) => string): string {
  if (event.type === 'child.usage') return `${event.action} used ${tokensOf(event)}`;
  const { type, event: said, child, action, ...head } = event;
  const own = { ...head, ...said, type: type.slice('child.'.length), ...child } as SessionEvent;
  return `in sub-agent ${action}: ${clauseOf(own)}`;
}

const tokensOf = ({ usage }: EventOf<'child.usage'>): string =>
  `${((usage?.input ?? 0) + (usage?.output ?? 0)).toLocaleString('en')} tokens`;
