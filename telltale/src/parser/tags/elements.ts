import {
  closeForeach,
  closeIf,
  createIdBook,
  type EarlierIds,
  type IdBook,
  renewIdBook,
} from '../envelope/ids.ts';
import type { ActionIntent, ParserEvent, Place } from '../intents.ts';
import {
  emit,
  endRun as endRunOf,
  leaveHeld,
  newRun as newRunIn,
  type ProseOutput,
} from '../prose/output.ts';
import {
  controlInForeach,
  type Fault,
  inDoubt,
  leftOpen,
  notHere,
  notInResponse,
  reservedTag,
  responseNotHere,
  strayElse,
  thoughtLeftOpen,
  truncated,
} from './faults.ts';
import { type ElementName, isControl, type TagName } from './names.ts';

type ElementsEnding = 'closed' | 'left_open' | 'truncated';

/** Opens an element after its event, if it has one; a self-closing one is closed at once. */
export function openElement(
  turn: Turn,
  frame: ElementsFrame,
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
export function closeAbove(turn: Turn, index: number, ending: ElementsEnding, at: number): void {
  while (turn.elements.stack.length - 1 > index) {
    const frame = popElement(turn.elements);
    if (frame !== undefined) endElement(turn, frame, ending, at);
  }
}

function endElement(turn: Turn, frame: ElementsFrame, ending: ElementsEnding, at: number): void {
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

export interface TurnOptions {
  readonly output: ProseOutput;
  readonly actionsIn: readonly Place[];
  readonly key: string | undefined;
  readonly ids: Set<string>;
  readonly earlier: EarlierIds | undefined;
}

/**
 * The state of one turn, above the characters: what is open, which ids are taken, whether it is in doubt, and the
 * events so far. The functions of this file and its neighbors (`open-tag`, `close-tag`, `end-body`) tell what a tag means
 * where it stands (rules 1, 2.4, 2.5, 2.7 and 4). A record, for the reason the reader is one.
 */
export interface Turn {
  readonly output: ProseOutput;
  readonly actionsIn: readonly Place[];
  readonly key: string | undefined;
  readonly elements: Elements;
  readonly book: IdBook;
  doubt: boolean;
}

/** What a tag that was read comes to, where it is not text because of a fault. */
export const COUNTED = 0;
/** An `<action>` or `<metadata>` that counts if a body follows, or an `<action>` with a name that may be empty. */
export const NEEDS_BODY = 1;
export const SILENT_TEXT = 2;
export type Meaning = 0 | 1 | 2 | Fault;

export function createTurn({ output, actionsIn, key, ids, earlier }: TurnOptions): Turn {
  const book = createIdBook(ids, earlier);
  return { output, actionsIn, key, elements: createElements(), book, doubt: false };
}

export function renewTurn(turn: Turn): void {
  renewElements(turn.elements);
  renewIdBook(turn.book);
  turn.doubt = false;
}

/** Ends the run before a tag that counts; `outermost` is the lowest element the tag closes. */
export function endRun({ output, elements }: Turn, at: number, outermost = Number.MAX_SAFE_INTEGER): void {
  endRunOf(output, elements.speech >= outermost, at);
}

export function newRun({ output, elements }: Turn, fresh: boolean): void {
  newRunIn(output, elements.place, fresh);
}

/** A fault about the text that follows it. */
export function faultBeforeText({ output }: Turn, fault: Fault, at: number): void {
  leaveHeld(output, at);
  emit(output, fault, at);
}

/** Why an opening tag of this name is text here, whatever its attributes are; undefined if it may count. */
export function misplaced(turn: Turn, name: TagName, lineIsBlank: boolean): Fault | undefined {
  const found = placement(turn.elements, turn.actionsIn, name, lineIsBlank);
  if (found?.doubt) turn.doubt = true;
  return found?.fault;
}

/** Why a tag is text where it stands, and whether the turn is in doubt from there on. */
export interface Misplaced {
  readonly fault: Fault;
  readonly doubt: boolean;
}

const isText = (fault: Fault, doubt = false): Misplaced => ({ fault, doubt });

/**
 * Why an opening tag of this name is text here whatever its attributes are (rules 1, 2.4 and 2.5), or undefined if it
 * may count. `lineIsBlank`: nothing but white space since the last line break or tag.
 */
export function placement(
  elements: Elements,
  actionsIn: readonly Place[],
  name: TagName,
  lineIsBlank: boolean,
): Misplaced | undefined {
  const { place, innermost } = elements;
  const acts = name === 'action' || name === 'metadata' || isControl(name);
  if (place === 'response' && !(acts && actionsIn.includes('response'))) return isText(notInResponse(name));
  if (name === 'result' || name === 'context_feed') return isText(reservedTag(name));
  if (name === 'response') {
    const stands = innermost === undefined || innermost === 'if' || lineIsBlank;
    return stands ? undefined : isText(responseNotHere());
  }
  if (!acts) return undefined;
  if (!actionsIn.includes(place)) return isText(notHere(name, place, actionsIn));
  if (name === 'else') {
    const frame = frameAt(elements, findElement(elements, 'if'));
    return frame?.name === 'if' && !frame.inElse ? undefined : isText(strayElse(), true);
  }
  return isControl(name) && elements.last.foreach >= 0 ? isText(controlInForeach(name), true) : undefined;
}

export type ElementsFrame =
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
  readonly stack: ElementsFrame[];
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

function createElements(): Elements {
  return {
    stack: [],
    innermost: undefined,
    place: 'outside',
    speech: -1,
    thoughts: 0,
    last: { thought: -1, response: -1, if: -1, foreach: -1, parallel: -1 },
    outer: undefined,
  };
}

/** Closes all that a turn has left open. */
function renewElements(elements: Elements): void {
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
export function frameAt({ stack }: Elements, index: number): ElementsFrame | undefined {
  return index < 0 ? undefined : stack[index];
}

/** The open `<foreach>`, if any; it cannot hold another. */
export function currentForeach(elements: Elements): Extract<ElementsFrame, { name: 'foreach' }> | undefined {
  const frame = frameAt(elements, elements.last.foreach);
  return frame?.name === 'foreach' ? frame : undefined;
}

function pushElement(elements: Elements, frame: ElementsFrame): void {
  const { stack, last, place, speech, outer } = elements;
  const { name } = frame;
  elements.outer = { last: last[name], place, speech, outer };
  last[name] = stack.length;
  if (name === 'thought' || name === 'response') {
    elements.place = name;
    elements.speech = stack.length;
    if (name === 'thought') elements.thoughts++;
  }
  stack.push(frame);
  elements.innermost = name;
}

function popElement(elements: Elements): ElementsFrame | undefined {
  const { stack, outer } = elements;
  const frame = stack.pop();
  if (frame === undefined) return undefined;
  elements.outer = outer?.outer;
  elements.last[frame.name] = outer?.last ?? -1;
  elements.place = outer?.place ?? 'outside';
  elements.speech = outer?.speech ?? -1;
  if (frame.name === 'thought') elements.thoughts--;
  elements.innermost = stack.at(-1)?.name;
  return frame;
}
