import { createIdBook, type EarlierIds, type IdBook, renewIdBook } from '../envelope/id-book.ts';
import type { Place } from '../intents.ts';
import { emit, endRun as endRunOf, leaveHeld, newRun as newRunIn, type Output } from '../prose/output.ts';
import { createElements, type Elements, renewElements } from './elements.ts';
import type { Fault } from './faults.ts';
import { placement } from './placement.ts';
import type { TagName } from './tag-names.ts';

export interface TurnOptions {
  readonly output: Output;
  readonly actionsIn: readonly Place[];
  readonly key: string | undefined;
  readonly ids: Set<string>;
  readonly earlier: EarlierIds | undefined;
}

/**
 * The state of one turn, above the characters: what is open, which ids are taken, whether it is in doubt, and the
 * events so far. The functions of this file and its neighbours (`open-tag`, `close-tag`, `end-body`) tell what a tag means
 * where it stands (rules 1, 2.4, 2.5, 2.7 and 4). A record, for the reason the reader is one.
 */
export interface Turn {
  readonly output: Output;
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
