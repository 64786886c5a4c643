import { elseIf, ID_FORM, isId, openForeach, openIf, takeId } from '../envelope/ids.ts';
import { emit } from '../prose/output.ts';
import { hasName, type ReadTag, unknownName } from './action-intent.ts';
import {
  COUNTED,
  closeAbove,
  closeElement,
  endRun,
  findElement,
  frameAt,
  type Meaning,
  NEEDS_BODY,
  newRun,
  openElement,
  SILENT_TEXT,
  type Turn,
} from './elements.ts';
import {
  badFinal,
  badValue,
  controlUnread,
  duplicateGroupId,
  type Fault,
  fenceLeftOpen,
  fenceLeftOpenAt,
  noBody,
  notHere,
  strayClose,
  unsealed,
} from './faults.ts';
import {
  ALL_NAMES,
  AS,
  type BodyTag,
  bitOf,
  type ElementName,
  FINAL,
  ID,
  IN,
  isControl,
  isElement,
  KEY,
  type TagName,
  TEST,
} from './names.ts';

const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** A thought ignores its attributes. */
export function openThought(turn: Turn, selfClosing: boolean, at: number): void {
  endRun(turn, at);
  const depth = turn.elements.thoughts;
  openElement(turn, { name: 'thought' }, { type: 'open', tag: 'thought', depth }, selfClosing, at);
}

/** Any other opening tag that is not misplaced. */
export function openTag(turn: Turn, tag: ReadTag, selfClosing: boolean, at: number): Meaning {
  const { name } = tag;
  if (name === 'response') return openResponse(turn, tag, selfClosing, at);
  if (isControl(name)) return openControl(turn, tag, selfClosing, at);
  if (turn.key !== undefined && tag.attributes.values[KEY] !== turn.key) return unsealed(name);
  const needsMore = !selfClosing || (name === 'action' && hasName(tag.attributes));
  return needsMore ? NEEDS_BODY : noBody(name as BodyTag);
}

function openResponse(turn: Turn, { attributes }: ReadTag, selfClosing: boolean, at: number): Meaning {
  const { elements, output } = turn;
  const floor = findElement(elements, 'if');
  endRun(turn, at, floor + 1);
  closeAbove(turn, floor, 'left_open', at);
  const value = attributes.values[FINAL] ?? 'true';
  const asked = value.toLowerCase();
  if (asked !== 'true' && asked !== 'false') emit(output, badFinal(value), at);
  const final = asked === 'true' && !turn.doubt;
  const depth = elements.thoughts;
  openElement(turn, { name: 'response' }, { type: 'open', tag: 'response', depth, final }, selfClosing, at);
  return COUNTED;
}

/** A control tag that stands where it may. */
function openControl(turn: Turn, tag: ReadTag, selfClosing: boolean, at: number): Meaning {
  const fault = controlFault(turn, tag);
  if (fault !== undefined) {
    turn.doubt = true;
    return fault;
  }
  const { output, elements, book } = turn;
  const { name } = tag;
  const { values } = tag.attributes;
  const branch = findElement(elements, 'if');
  endRun(turn, at, name === 'else' ? branch + 1 : undefined);
  if (name === 'else') closeAbove(turn, branch, 'left_open', at);
  const unknown = unknownName(tag);
  if (unknown !== undefined) emit(output, unknown, at);
  if (name === 'if') {
    const test = values[TEST] ?? '';
    openIf(book);
    openElement(turn, { name, test, inElse: false }, { type: 'if', test, body: 'open' }, selfClosing, at);
  } else if (name === 'foreach') {
    openForeach(book);
    const list = values[IN] ?? '';
    openElement(turn, { name, list, as: values[AS] ?? 'item', actions: [] }, undefined, selfClosing, at);
  } else if (name === 'parallel') {
    const id = groupId(turn, values[ID], at);
    const event = { type: 'parallel', ...(id === undefined ? {} : { id }), body: 'open' } as const;
    openElement(turn, { name, id }, event, selfClosing, at);
  } else {
    const frame = frameAt(elements, branch);
    if (frame?.name === 'if') {
      frame.inElse = true;
      elseIf(book);
      emit(output, { type: 'if', test: frame.test, body: 'else' }, at);
    }
    newRun(turn, false);
  }
  return COUNTED;
}

/** Why a control tag cannot count: what it guards must not run unguarded, so the turn is then in doubt. */
function controlFault({ key }: Turn, { name, attributes, readable }: ReadTag): Fault | undefined {
  const { values } = attributes;
  if (name === 'foreach' && key !== undefined && values[KEY] !== key) return unsealed(name);
  if (!readable || attributes.repeated !== undefined) return controlUnread(name, undefined);
  if (name === 'if' && (values[TEST] ?? '') === '') return controlUnread(name, 'test');
  if (name !== 'foreach') return undefined;
  if ((values[IN] ?? '') === '') return controlUnread(name, 'in');
  return IDENTIFIER.test(values[AS] ?? 'item') ? undefined : controlUnread(name, 'name in "as"');
}

function groupId({ output, book }: Turn, id: string | undefined, at: number): string | undefined {
  if (id === undefined) return undefined;
  if (!isId(id)) emit(output, badValue('parallel', 'id', id, ID_FORM), at);
  else if (takeId(book, id)) return id;
  else emit(output, duplicateGroupId(id), at);
  return undefined;
}

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
