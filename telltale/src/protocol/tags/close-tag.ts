import { emit } from '../prose/output.ts';
import { findElement } from './elements.ts';
import { fenceLeftOpen, fenceLeftOpenAt, notHere, strayClose } from './faults.ts';
import { ALL_NAMES, bitOf, type ElementName, isControl, isElement, type TagName } from './tag-names.ts';
import { COUNTED, endRun, type Meaning, SILENT_TEXT, type Turn } from './turn.ts';
import { closeAbove, closeElement } from './turn-elements.ts';

const ELEMENTS = ['thought', 'response', 'if', 'foreach', 'parallel'] as const;

/** The names of closing tags that matter here, one bit each: outside a response a stray one has a fault. */
export function closable({ elements }: Turn): number {
  if (elements.place !== 'response') return ALL_NAMES;
  let bits = 0;
  for (const name of ELEMENTS) if (findElement(elements, name) >= 0) bits |= bitOf(name);
  return bits;
}

export function closeTag(turn: Turn, name: TagName, at: number): Meaning {
  const { elements } = turn;
  const index = isElement(name) ? findElement(elements, name) : -1;
  if (index < 0 || !isElement(name)) return elements.place === 'response' ? SILENT_TEXT : strayClose(name);
  if (isControl(name) && !turn.actionsIn.includes(elements.place))
    return notHere(name, elements.place, turn.actionsIn);
  endRun(turn, at, index);
  closeElement(turn, name, at);
  return COUNTED;
}

/** The closing tag of the innermost element, alone on a line of a fence left open. */
export function closeInFence(turn: Turn, name: ElementName, at: number): void {
  endRun(turn, at, findElement(turn.elements, name));
  emit(turn.output, fenceLeftOpenAt(name), at);
  turn.doubt = true;
  closeElement(turn, name, at);
}

/** The end of the stream: all that is open is closed, innermost first. */
export function finishTurn(turn: Turn, fenceIsOpen: boolean, at: number): void {
  endRun(turn, at, 0);
  if (fenceIsOpen) emit(turn.output, fenceLeftOpen(), at);
  closeAbove(turn, -1, 'truncated', at);
  turn.output.consumed = at;
}
