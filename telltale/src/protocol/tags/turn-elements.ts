import { closeForeach, closeIf } from '../envelope/id-book.ts';
import type { ParserEvent } from '../intents.ts';
import { emit } from '../prose/output.ts';
import { type Frame, findElement, popElement, pushElement } from './elements.ts';
import { inDoubt, leftOpen, thoughtLeftOpen, truncated } from './faults.ts';
import type { ElementName } from './tag-names.ts';
import { newRun, type Turn } from './turn.ts';

type Ending = 'closed' | 'left_open' | 'truncated';

/** Opens an element after its event, if it has one; a self-closing one is closed at once. */
export function openElement(
  turn: Turn,
  frame: Frame,
  event: ParserEvent | undefined,
  selfClosing: boolean,
  at: number,
): void {
  if (event !== undefined) emit(turn.output, event, at);
  pushElement(turn.elements, frame);
  if (selfClosing) closeElement(turn, frame.name, at);
  else newRun(turn, frame.name === 'thought' || frame.name === 'response');
}

/** Closes the innermost element of this name, and first what was left open in it. */
export function closeElement(turn: Turn, name: ElementName, at: number): void {
  closeAbove(turn, findElement(turn.elements, name), 'left_open', at);
  const frame = popElement(turn.elements);
  if (frame !== undefined) endElement(turn, frame, 'closed', at);
  newRun(turn, false);
}

/** Closes what stands above `index`, innermost first, as left open or truncated. */
export function closeAbove(turn: Turn, index: number, ending: Ending, at: number): void {
  while (turn.elements.stack.length - 1 > index) {
    const frame = popElement(turn.elements);
    if (frame !== undefined) endElement(turn, frame, ending, at);
  }
}

function endElement(turn: Turn, frame: Frame, ending: Ending, at: number): void {
  const { output, book } = turn;
  const { name } = frame;
  if (ending === 'truncated') emit(output, truncated(name), at);
  else if (ending === 'left_open') emit(output, name === 'thought' ? thoughtLeftOpen() : leftOpen(name), at);
  switch (frame.name) {
    case 'thought':
    case 'response':
      if (ending === 'truncated') emit(output, { type: 'close', tag: frame.name, truncated: true }, at);
      else emit(output, { type: 'close', tag: frame.name }, at);
      return;
    case 'if':
      closeIf(book);
      emit(output, { type: 'if', test: frame.test, body: 'close' }, at);
      return;
    case 'parallel': {
      const id = frame.id === undefined ? {} : { id: frame.id };
      emit(output, { type: 'parallel', ...id, body: 'close' }, at);
      return;
    }
    case 'foreach': {
      const runs = ending === 'closed' && !turn.doubt;
      closeForeach(book, !runs);
      if (runs) emit(output, { type: 'foreach', in: frame.list, as: frame.as, actions: frame.actions }, at);
      else if (ending === 'closed') emit(output, inDoubt('foreach'), at);
    }
  }
}
