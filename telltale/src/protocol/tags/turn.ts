import type { ParserEvent, Place } from '../intents.ts';
import { actionIntent, attributeFault, ID_FORM, isId, type ReadTag, unknownName } from './action-intent.ts';
import { AS, FINAL, ID, IN, KEY, TEST } from './attribute-names.ts';
import {
  createElements,
  type Elements,
  type Frame,
  findElement,
  frameAt,
  openForeach,
  popElement,
  pushElement,
} from './elements.ts';
import { readEnvelope } from './envelope.ts';
import type { Fault } from './faults.ts';
import * as faults from './faults.ts';
import { createIdBook } from './id-book.ts';
import { emit as emitTo, endRun as endRunOf, leaveHeld, newRun as newRunIn, type Output } from './output.ts';
import { placement } from './placement.ts';
import { readBody } from './read-body.ts';
import {
  ALL_NAMES,
  type BodyTag,
  bitOf,
  type ElementName,
  isControl,
  isElement,
  type TagName,
} from './tag-names.ts';

export interface TurnOptions {
  readonly output: Output;
  readonly actionsIn: readonly Place[];
  readonly key: string | undefined;
  readonly ids: Set<string>;
}

/** What a tag that was read comes to. */
export type Meaning =
  | { readonly is: 'counted' }
  /** An `<action>` or `<metadata>` that counts if a body follows. */
  | { readonly is: 'body'; readonly tag: ReadTag }
  | { readonly is: 'text'; readonly fault?: Fault };

type Ending = 'closed' | 'left_open' | 'truncated';

const COUNTED: Meaning = { is: 'counted' };
const SILENT_TEXT: Meaning = { is: 'text' };
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;

export type Turn = ReturnType<typeof createTurn>;

/**
 * The state of one turn, above the characters: what is open, which ids are taken, whether it is in doubt, and the
 * events so far. Tells what a tag means where it stands (rules 1, 2.4, 2.5, 2.7 and 4).
 */
export function createTurn({ output, actionsIn, key, ids }: TurnOptions) {
  const elements = createElements();
  const book = createIdBook(ids);
  let doubt = false;

  const emit = (event: ParserEvent, at: number) => emitTo(output, event, at);

  /** Ends the run before a tag that counts; `outermost` is the lowest element the tag closes. */
  const endRun = (at: number, outermost = Number.POSITIVE_INFINITY) =>
    endRunOf(output, elements.speech >= outermost, at);

  const newRun = (fresh = false) => newRunIn(output, elements.place, fresh);

  const textBecauseOf = (fault: Fault, putsInDoubt = false): Meaning => {
    if (putsInDoubt) doubt = true;
    return { is: 'text', fault };
  };

  const allowed = (place: Place) => actionsIn.includes(place);

  const endElement = (frame: Frame, ending: Ending, at: number) => {
    if (ending === 'truncated') emit(faults.truncated(frame.name), at);
    else if (ending === 'left_open')
      emit(frame.name === 'thought' ? faults.thoughtLeftOpen() : faults.leftOpen(frame.name), at);
    switch (frame.name) {
      case 'thought':
      case 'response':
        if (ending === 'truncated') emit({ type: 'close', tag: frame.name, truncated: true }, at);
        else emit({ type: 'close', tag: frame.name }, at);
        return;
      case 'if':
        book.closeIf();
        emit({ type: 'if', test: frame.test, body: 'close' }, at);
        return;
      case 'parallel':
        emit({ type: 'parallel', ...(frame.id === undefined ? {} : { id: frame.id }), body: 'close' }, at);
        return;
      case 'foreach': {
        const runs = ending === 'closed' && !doubt;
        book.closeForeach(!runs);
        if (runs) emit({ type: 'foreach', in: frame.list, as: frame.as, actions: frame.actions }, at);
        else if (ending === 'closed') emit(faults.inDoubt('foreach'), at);
      }
    }
  };

  /** Closes what stands above `index`, innermost first, as left open or truncated. */
  const closeAbove = (index: number, ending: Ending, at: number) => {
    while (elements.stack.length - 1 > index) {
      const frame = popElement(elements);
      if (frame !== undefined) endElement(frame, ending, at);
    }
  };

  const openElement = (frame: Frame, event: ParserEvent | undefined, selfClosing: boolean, at: number) => {
    if (event !== undefined) emit(event, at);
    pushElement(elements, frame);
    if (selfClosing) closeElement(frame.name, at);
    else newRun(frame.name === 'thought' || frame.name === 'response');
  };

  const closeElement = (name: ElementName, at: number) => {
    closeAbove(findElement(elements, name), 'left_open', at);
    const frame = popElement(elements);
    if (frame !== undefined) endElement(frame, 'closed', at);
    newRun();
  };

  const openResponse = ({ attributes }: ReadTag, selfClosing: boolean, at: number) => {
    const floor = findElement(elements, 'if');
    endRun(at, floor + 1);
    closeAbove(floor, 'left_open', at);
    const value = attributes.values[FINAL] ?? 'true';
    const final = value.toLowerCase();
    if (final !== 'true' && final !== 'false') emit(faults.badFinal(value), at);
    openElement(
      { name: 'response' },
      { type: 'open', tag: 'response', depth: elements.thoughts, final: final === 'true' && !doubt },
      selfClosing,
      at,
    );
    return COUNTED;
  };

  /** A control tag that can be read and stands where it may. */
  const openControl = (tag: ReadTag, selfClosing: boolean, at: number): Meaning => {
    const { name, attributes } = tag;
    if (name === 'foreach' && key !== undefined && attributes.values[KEY] !== key)
      return textBecauseOf(faults.unsealed(name), true);
    if (!tag.readable || attributes.repeated !== undefined)
      return textBecauseOf(faults.controlUnread(name, undefined), true);
    const test = attributes.values[TEST] ?? '';
    const list = attributes.values[IN] ?? '';
    const as = attributes.values[AS] ?? 'item';
    if (name === 'if' && test === '') return textBecauseOf(faults.controlUnread(name, 'test'), true);
    if (name === 'foreach' && list === '') return textBecauseOf(faults.controlUnread(name, 'in'), true);
    if (name === 'foreach' && !IDENTIFIER.test(as))
      return textBecauseOf(faults.controlUnread(name, 'name in "as"'), true);
    const branch = findElement(elements, 'if');
    endRun(at, name === 'else' ? branch + 1 : undefined);
    if (name === 'else') closeAbove(branch, 'left_open', at);
    const unknown = unknownName(tag);
    if (unknown !== undefined) emit(unknown, at);
    if (name === 'if') {
      book.openIf();
      openElement({ name, test, inElse: false }, { type: 'if', test, body: 'open' }, selfClosing, at);
    } else if (name === 'foreach') {
      book.openForeach();
      openElement({ name, list, as, actions: [] }, undefined, selfClosing, at);
    } else if (name === 'parallel') {
      const id = groupId(attributes.values[ID], at);
      openElement(
        { name, id },
        { type: 'parallel', ...(id === undefined ? {} : { id }), body: 'open' },
        selfClosing,
        at,
      );
    } else {
      const frame = frameAt(elements, branch);
      if (frame?.name === 'if') {
        frame.inElse = true;
        book.elseIf();
        emit({ type: 'if', test: frame.test, body: 'else' }, at);
      }
      newRun();
    }
    return COUNTED;
  };

  const groupId = (id: string | undefined, at: number): string | undefined => {
    if (id === undefined) return undefined;
    if (!isId(id)) emit(faults.badValue('parallel', 'id', id, ID_FORM), at);
    else if (!book.isFree(id)) emit(faults.duplicateGroupId(id), at);
    else {
      book.take(id);
      return id;
    }
    return undefined;
  };

  /** The event of a body that ended where it should, or the one fault that keeps it from acting. */
  const act = (tag: ReadTag, text: string, strict: unknown, at: number): ParserEvent | undefined => {
    const name = tag.name as BodyTag;
    const bad = doubt ? faults.inDoubt(name) : attributeFault(tag);
    if (bad !== undefined) return bad;
    const body = readBody(text, strict);
    if (body === undefined) return faults.badJson(name);
    if (name === 'metadata') {
      return { type: 'metadata', value: body.value, ...(body.repaired ? { repaired: true } : {}) };
    }
    const envelope = readEnvelope(body.value);
    if (typeof envelope === 'string') return faults.badAction(envelope);
    const asked = tag.attributes.values[ID];
    if (asked !== undefined && !book.isFree(asked)) return faults.duplicateId(asked);
    const id = asked ?? book.automatic();
    book.take(id);
    const { place } = elements;
    const foreach = openForeach(elements);
    const intent = actionIntent(tag, envelope, {
      id,
      inParallel: elements.last.parallel >= 0,
      in: place === 'outside' ? undefined : place,
      repaired: body.repaired,
    });
    if (foreach === undefined) return intent;
    foreach.actions.push(intent);
    output.consumed = at;
    return undefined;
  };

  return {
    elements: elements as Readonly<Elements>,
    actionsIn,
    /** A fault about the text that follows it. */
    faultBeforeText(fault: Fault, at: number) {
      leaveHeld(output, at);
      emit(fault, at);
    },
    fault: emit as (fault: Fault, at: number) => void,
    putInDoubt() {
      doubt = true;
    },
    /** Why an opening tag of this name is text here, whatever its attributes are; undefined if it may count. */
    misplaced(name: TagName, lineIsBlank: boolean): Fault | undefined {
      const found = placement(elements, actionsIn, name, lineIsBlank);
      if (found?.doubt) doubt = true;
      return found?.fault;
    },
    /** The names of closing tags that matter here, one bit each: outside a response a stray one has a fault. */
    closable(): number {
      if (elements.place !== 'response') return ALL_NAMES;
      let bits = 0;
      for (const name of ['thought', 'response', 'if', 'foreach', 'parallel'] as const) {
        if (findElement(elements, name) >= 0) bits |= bitOf(name);
      }
      return bits;
    },
    /** A thought ignores its attributes. */
    openThought(selfClosing: boolean, at: number): Meaning {
      endRun(at);
      openElement(
        { name: 'thought' },
        { type: 'open', tag: 'thought', depth: elements.thoughts },
        selfClosing,
        at,
      );
      return COUNTED;
    },
    /** Any other opening tag that is not misplaced. */
    open(tag: ReadTag, selfClosing: boolean, at: number): Meaning {
      const { name } = tag;
      if (name === 'response') return openResponse(tag, selfClosing, at);
      if (isControl(name)) return openControl(tag, selfClosing, at);
      if (key !== undefined && tag.attributes.values[KEY] !== key)
        return textBecauseOf(faults.unsealed(name));
      if (selfClosing) return textBecauseOf(faults.noBody(name as BodyTag));
      return { is: 'body', tag };
    },
    close(name: TagName, at: number): Meaning {
      const index = isElement(name) ? findElement(elements, name) : -1;
      if (index < 0 || !isElement(name)) {
        return elements.place === 'response' ? SILENT_TEXT : textBecauseOf(faults.strayClose(name));
      }
      if (isControl(name) && !allowed(elements.place))
        return textBecauseOf(faults.notHere(name, elements.place));
      endRun(at, index);
      closeElement(name, at);
      return COUNTED;
    },
    /** The closing tag of the innermost element, alone on a line of a fence left open. */
    closeInFence(name: ElementName, at: number) {
      endRun(at, findElement(elements, name));
      emit(faults.fenceLeftOpenAt(name), at);
      doubt = true;
      closeElement(name, at);
    },
    /** The `{` of a body has been seen: the tag counts, and the run before it is over. */
    beginBody(at: number) {
      endRun(at);
      newRun();
    },
    endBody(tag: ReadTag, text: string, strict: unknown, at: number) {
      const event = act(tag, text, strict, at);
      if (event !== undefined) emit(event, at);
    },
    breakBody(tag: ReadTag, tooLarge: boolean, at: number) {
      const name = tag.name as BodyTag;
      if (!tooLarge)
        emit(doubt ? faults.inDoubt(name) : (attributeFault(tag) ?? faults.brokenBody(name)), at);
      doubt = true;
    },
    /** The end of the stream: all that is open is closed, innermost first. */
    finish(fenceIsOpen: boolean, at: number) {
      endRun(at, 0);
      if (fenceIsOpen) emit(faults.fenceLeftOpen(), at);
      closeAbove(-1, 'truncated', at);
      output.consumed = at;
    },
  };
}
