import { added, NONE, withoutLast } from '../../kernel/grow.ts';
import type { ActionIntent, Place } from '../intents.ts';
import type { ElementName } from './tag-names.ts';

export type Frame =
  | { readonly name: 'thought' | 'response' }
  | { readonly name: 'if'; readonly test: string; inElse: boolean }
  | { readonly name: 'foreach'; readonly list: string; readonly as: string; readonly actions: ActionIntent[] }
  | { readonly name: 'parallel'; readonly id: string | undefined };

/**
 * What is open. Plain fields, kept up to date, rather than getters: an object literal with a getter has a shape of its
 * own each time, and every look at it would be a slow one.
 */
export interface Elements {
  /** Innermost last. */
  stack: readonly Frame[];
  innermost: ElementName | undefined;
  /** What prose belongs to: the innermost thought or response, which stands at index `speech`; -1 outside. */
  place: Place;
  speech: number;
  /** How many thoughts are open. */
  thoughts: number;
  /** The index of the innermost element of each name, -1 if none is open: no closing tag has to search. */
  readonly last: Record<ElementName, number>;
  /** What was before the innermost element, and so on outwards. */
  outer: Outer | undefined;
}

interface Outer {
  readonly last: number;
  readonly place: Place;
  readonly speech: number;
  readonly outer: Outer | undefined;
}

export function createElements(): Elements {
  return {
    stack: NONE,
    innermost: undefined,
    place: 'outside',
    speech: -1,
    thoughts: 0,
    last: { thought: -1, response: -1, if: -1, foreach: -1, parallel: -1 },
    outer: undefined,
  };
}

/** Closes all that a turn has left open. */
export function renewElements(elements: Elements): void {
  while (elements.stack.length > 0) popElement(elements);
}

/**
 * The index of the innermost open element of this name that a tag here can reach, else -1: from inside a response
 * nothing outside it can be reached.
 */
export function findElement({ last }: Elements, name: ElementName): number {
  const index = last[name];
  return index >= last.response ? index : -1;
}

/** The open element at an index that may be -1. (An array would look -1 up as a name, forty times slower.) */
export function frameAt({ stack }: Elements, index: number): Frame | undefined {
  return index < 0 ? undefined : stack[index];
}

/** The open `<foreach>`, if any; it cannot hold another. */
export function openForeach(elements: Elements): Extract<Frame, { name: 'foreach' }> | undefined {
  const frame = frameAt(elements, elements.last.foreach);
  return frame?.name === 'foreach' ? frame : undefined;
}

export function pushElement(elements: Elements, frame: Frame): void {
  const { stack, last, place, speech, outer } = elements;
  const { name } = frame;
  elements.outer = { last: last[name], place, speech, outer };
  last[name] = stack.length;
  if (name === 'thought' || name === 'response') {
    elements.place = name;
    elements.speech = stack.length;
    if (name === 'thought') elements.thoughts++;
  }
  elements.stack = added(stack, frame);
  elements.innermost = name;
}

export function popElement(elements: Elements): Frame | undefined {
  const { stack, outer } = elements;
  const frame = frameAt(elements, stack.length - 1);
  if (frame === undefined) return undefined;
  elements.stack = withoutLast(stack);
  elements.outer = outer?.outer;
  elements.last[frame.name] = outer?.last ?? -1;
  elements.place = outer?.place ?? 'outside';
  elements.speech = outer?.speech ?? -1;
  if (frame.name === 'thought') elements.thoughts--;
  elements.innermost = frameAt(elements, elements.stack.length - 1)?.name;
  return frame;
}
