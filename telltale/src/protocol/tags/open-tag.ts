import { ID_FORM, isId } from '../envelope/action-id.ts';
import { elseIf, openForeach, openIf, takeId } from '../envelope/id-book.ts';
import { emit } from '../prose/output.ts';
import { type ReadTag, unknownName } from './action-intent.ts';
import { AS, FINAL, ID, IN, KEY, TEST } from './attribute-names.ts';
import { findElement, frameAt } from './elements.ts';
import {
  badFinal,
  badValue,
  controlUnread,
  duplicateGroupId,
  type Fault,
  noBody,
  unsealed,
} from './faults.ts';
import { hasName } from './field-attributes.ts';
import { type BodyTag, isControl } from './tag-names.ts';
import { COUNTED, endRun, type Meaning, NEEDS_BODY, newRun, type Turn } from './turn.ts';
import { closeAbove, openElement } from './turn-elements.ts';

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
