import { ACTION_KINDS, ACTION_MODES } from '../../kernel/action-envelope.ts';
import { ID_FORM, isId } from '../envelope/action-id.ts';
import type { Envelope } from '../envelope/envelope.ts';
import { makeIntent } from '../envelope/make-intent.ts';
import type { ActionIntent } from '../intents.ts';
import { AS, ATTRIBUTE_NAMES, FINAL, ID, IN, KEY, MODE, TEST, TYPE } from './attribute-names.ts';
import type { Attributes } from './attributes.ts';
import type { Elements } from './elements.ts';
import { badValue, type Fault, repeatedAttribute, unknownAttribute, unreadableAttributes } from './faults.ts';
import { badField, FIELD_BITS } from './field-attributes.ts';
import type { TagName } from './tag-names.ts';

/** An opening tag as it was read. */
export interface ReadTag {
  readonly name: TagName;
  readonly attributes: Attributes;
  readonly readable: boolean;
}

const bits = (...codes: readonly number[]): number => codes.reduce((sum, code) => sum | (1 << code), 0);

/** What each tag knows, one bit for each code. `thought` and `response` ignore the rest silently. */
const KNOWN: Readonly<Record<TagName, number>> = {
  action: bits(TYPE, MODE, ID, KEY) | FIELD_BITS,
  metadata: bits(KEY),
  if: bits(TEST, KEY),
  else: bits(KEY),
  foreach: bits(IN, AS, KEY),
  parallel: bits(ID, KEY),
  thought: bits(KEY),
  response: bits(FINAL, KEY),
  result: 0,
  context_feed: 0,
};

const TYPES: readonly string[] = [...ACTION_KINDS, 'context_feed'];

export function unknownName({ name, attributes }: ReadTag): Fault | undefined {
  const known = KNOWN[name];
  const strays = attributes.present & ~known;
  if (strays === 0 && attributes.other === undefined) return undefined;
  const stray = attributes.other ?? ATTRIBUTE_NAMES.find((_, code) => (strays & (1 << code)) !== 0) ?? '';
  const names = ATTRIBUTE_NAMES.filter((_, code) => (known & (1 << code)) !== 0);
  return unknownAttribute(name, stray, names);
}

/** What keeps an `<action>` or `<metadata>` from acting because of its attributes. */
export function attributeFault(tag: ReadTag): Fault | undefined {
  const { name, attributes, readable } = tag;
  const { values, repeated } = attributes;
  if (!readable) return unreadableAttributes(name);
  if (repeated !== undefined) return repeatedAttribute(name, repeated);
  const unknown = unknownName(tag);
  if (unknown !== undefined || name !== 'action' || attributes.present === 0) return unknown;
  const type = values[TYPE];
  if (type !== undefined && !TYPES.includes(type)) return badValue(name, 'type', type, TYPES.join(', '));
  const mode = values[MODE];
  if (mode !== undefined && !ACTION_MODES.includes(mode as never)) {
    return badValue(name, 'mode', mode, ACTION_MODES.join(', '));
  }
  const id = values[ID];
  if (id !== undefined && !isId(id)) return badValue(name, 'id', id, ID_FORM);
  const bad = badField(attributes);
  return bad && badValue(name, bad.field, bad.value, bad.allowed);
}

/** The event of an action whose attributes and body have been checked. */
export function actionIntent(
  { attributes }: ReadTag,
  body: Envelope,
  id: string,
  elements: Elements,
  repaired: boolean,
): ActionIntent {
  const { place, last } = elements;
  const type = attributes.values[TYPE];
  const asked = attributes.values[MODE];
  const inParallel = last.parallel >= 0 && (body.template === undefined || asked !== undefined);
  const kind = type === 'context_feed' ? 'internal' : type;
  return makeIntent(kind, inParallel ? 'async' : asked, body, id, place, repaired);
}
