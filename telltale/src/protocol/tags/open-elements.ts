import { NONE } from '../../kernel/grow.ts';
import type { ParserEvent } from '../intents.ts';
import { type Elements, frameAt, pushElement } from './elements.ts';
import type { Reader } from './reader-state.ts';
import type { Turn } from './turn.ts';
import { closeAbove } from './turn-elements.ts';

/** An element that was open where a turn was cut short, and that the model goes on inside of. */
export type OpenElement =
  | { readonly name: 'if'; readonly test: string; readonly inElse: boolean }
  | { readonly name: 'parallel'; readonly id: string | undefined };

/** `live`: whether what comes next in it counts. */
export type InsideElement = OpenElement & { readonly live: boolean };

/** The elements that are open behind these events, innermost last, where those of `inside` were before them. */
export function openElements(
  events: Iterable<ParserEvent>,
  inside: readonly OpenElement[] = NONE,
): readonly OpenElement[] {
  const open: OpenElement[] = [...inside];
  for (const event of events) {
    if (event.type !== 'if' && event.type !== 'parallel') continue;
    if (event.body !== 'open') open.pop();
    if (event.type === 'parallel') {
      if (event.body === 'open') open.push({ name: 'parallel', id: event.id });
    } else if (event.body !== 'close')
      open.push({ name: 'if', test: event.test, inElse: event.body === 'else' });
  }
  return open;
}

/**
 * Has a turn begin inside of these, so that its `<else/>`, `</if>` and `</parallel>` belong to them. It need not close them,
 * but for an `<if>` in which nothing counts: that has swallowed the turn.
 */
export function beginInside({ turn, md }: Reader, elements: readonly InsideElement[]): void {
  for (const element of elements) {
    if (element.name === 'parallel') {
      pushElement(turn.elements, { name: 'parallel', id: element.id, goneOn: true });
      continue;
    }
    const { test, inElse, live } = element;
    pushElement(turn.elements, { name: 'if', test, inElse, goneOn: live });
  }
  md.watched = turn.elements.innermost;
}

/**
 * Where the model opens a `<parallel>` again that it goes on inside of, as it may who begins anew: it is in that one from
 * now on, as if it had just opened it.
 */
export function openAgain(turn: Turn, id: string, at: number): boolean {
  const index = goneOnIndex(turn.elements, id);
  const frame = frameAt(turn.elements, index);
  if (frame?.name !== 'parallel') return false;
  closeAbove(turn, index, 'left_open', at);
  frame.goneOn = false;
  return true;
}

/** The `<parallel>` of this id that the turn goes on inside of, where nothing was opened in it since; else -1. */
function goneOnIndex({ stack }: Elements, id: string): number {
  for (let at = stack.length - 1; at >= 0; at--) {
    const frame = stack[at];
    if ((frame?.name !== 'if' && frame?.name !== 'parallel') || frame.goneOn !== true) return -1;
    if (frame.name === 'parallel' && frame.id === id) return at;
  }
  return -1;
}
