import { readEnvelope } from '../envelope/envelope.ts';
import { takeAutomaticId, takeId } from '../envelope/id-book.ts';
import { withOurNames } from '../envelope/parameters.ts';
import type { ParserEvent } from '../intents.ts';
import { readObject } from '../json/read-object.ts';
import { emit } from '../prose/output.ts';
import { actionIntent, attributeFault, type ReadTag } from './action-intent.ts';
import { ID } from './attribute-names.ts';
import { openForeach } from './elements.ts';
import {
  aboutAction,
  badAction,
  badJson,
  brokenBody,
  duplicateId,
  type Fault,
  inDoubt,
  notFinite,
} from './faults.ts';
import { hasName, withFields } from './field-attributes.ts';
import type { BodyTag } from './tag-names.ts';
import { endRun, newRun, type Turn } from './turn.ts';

/** The `{` of a body has been seen: the tag counts, and the run before it is over. */
export function beginBody(turn: Turn, at: number): void {
  endRun(turn, at);
  newRun(turn, false);
}

/** A body that ended where it should. `strict` is what JSON.parse made of it, if it could. */
export function endBody(turn: Turn, tag: ReadTag, text: string, strict: unknown, at: number): void {
  const acted = act(turn, tag, text, strict);
  const event = acted.type === 'fault' ? aboutTag(tag, acted) : acted;
  const foreach = openForeach(turn.elements);
  if (event.type !== 'action' || foreach === undefined) emit(turn.output, event, at);
  else {
    foreach.actions.push(event);
    turn.output.consumed = at;
  }
}

export function breakBody(turn: Turn, tag: ReadTag, tooLarge: boolean, at: number): void {
  const name = tag.name as BodyTag;
  if (!tooLarge)
    emit(
      turn.output,
      aboutTag(tag, turn.doubt ? inDoubt(name) : (attributeFault(tag) ?? brokenBody(name))),
      at,
    );
  turn.doubt = true;
}

/** A fault of a tag, naming the action that it keeps from running. */
export const aboutTag = ({ name, attributes }: ReadTag, fault: Fault): Fault =>
  aboutAction(name === 'action' ? attributes.values[ID] : undefined, fault);

/** The event of a body, or the one fault that keeps it from acting. */
function act({ elements, book, doubt }: Turn, tag: ReadTag, text: string, strict: unknown): ParserEvent {
  const name = tag.name as BodyTag;
  const bad = doubt ? inDoubt(name) : attributeFault(tag);
  if (bad !== undefined) return bad;
  const value = readObject(text, strict);
  if (typeof value === 'string') return value === 'not_finite' ? notFinite(name) : badJson(name);
  const repaired = strict === undefined;
  if (name === 'metadata') {
    return repaired ? { type: 'metadata', value, repaired } : { type: 'metadata', value };
  }
  const { attributes } = tag;
  const body = hasName(attributes) ? value : withOurNames(value, 'parameters');
  const full = typeof body === 'string' ? body : withFields(attributes, body);
  const envelope = typeof full === 'string' ? full : readEnvelope(full);
  if (typeof envelope === 'string') return badAction(envelope);
  const asked = attributes.values[ID];
  if (asked !== undefined && !takeId(book, asked)) return duplicateId(asked);
  const id = asked ?? takeAutomaticId(book);
  return actionIntent(tag, envelope, id, elements, repaired);
}
