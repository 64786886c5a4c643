import { NONE } from '../../kernel/grow.ts';
import { elseIf, openIf } from '../envelope/id-book.ts';
import type { ParserEvent } from '../intents.ts';
import { pushElement } from './elements.ts';
import type { Reader } from './reader-state.ts';

/** An `<if>` that was open where a turn was cut short. */
export interface OpenIf {
  readonly test: string;
  readonly inElse: boolean;
}

/** `live`: whether what comes next in it counts. */
export interface InsideIf extends OpenIf {
  readonly live: boolean;
}

/** The `<if>`s that are open behind these events, innermost last, where those of `inside` were before them. */
export function openIfs(events: Iterable<ParserEvent>, inside: readonly OpenIf[] = NONE): readonly OpenIf[] {
  const open: OpenIf[] = [...inside];
  for (const event of events) {
    if (event.type !== 'if') continue;
    const { test, body } = event;
    if (body !== 'open') open.pop();
    if (body !== 'close') open.push({ test, inElse: body === 'else' });
  }
  return open;
}

/**
 * Has a turn begin inside of these, so that its `<else/>` and `</if>` belong to them. It need not close them, but for one
 * in which nothing counts: that has swallowed the turn.
 */
export function beginInside({ turn, md }: Reader, ifs: readonly InsideIf[]): void {
  for (const { test, inElse, live } of ifs) {
    pushElement(turn.elements, { name: 'if', test, inElse, goneOn: live });
    openIf(turn.book);
    if (inElse) elseIf(turn.book);
  }
  md.watched = turn.elements.innermost;
}
