import { elseIf, openIf } from '../envelope/id-book.ts';
import type { ParserEvent } from '../intents.ts';
import { pushElement } from './elements.ts';
import type { Reader } from './reader-state.ts';

/** An `<if>` that was open where a turn was cut short. */
export interface OpenIf {
  readonly test: string;
  readonly inElse: boolean;
}

/** The `<if>`s that are open behind these events, innermost last. */
export function openIfs(events: Iterable<ParserEvent>): readonly OpenIf[] {
  const open: OpenIf[] = [];
  for (const event of events) {
    if (event.type !== 'if') continue;
    const { test, body } = event;
    if (body !== 'open') open.pop();
    if (body !== 'close') open.push({ test, inElse: body === 'else' });
  }
  return open;
}

/** Has a turn begin inside of these, so that its `<else/>` and `</if>` belong to them. It need not close them. */
export function beginInside({ turn, md }: Reader, ifs: readonly OpenIf[]): void {
  for (const { test, inElse } of ifs) {
    pushElement(turn.elements, { name: 'if', test, inElse, goneOn: true });
    openIf(turn.book);
    if (inElse) elseIf(turn.book);
  }
  md.watched = turn.elements.innermost;
}
