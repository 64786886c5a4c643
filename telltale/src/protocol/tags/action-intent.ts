import { ACTION_KINDS, ACTION_MODES } from '../../kernel/action-envelope.ts';
import type { ActionIntent } from '../intents.ts';
import { AS, ATTRIBUTE_NAMES, FINAL, ID, IN, KEY, MODE, TEST, TYPE } from './attribute-names.ts';
import type { Attributes } from './attributes.ts';
import { MINUS, NINE, UNDERSCORE, ZERO } from './chars.ts';
import type { Elements } from './elements.ts';
import type { Envelope } from './envelope.ts';
import { badValue, type Fault, repeatedAttribute, unknownAttribute, unreadableAttributes } from './faults.ts';
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
  action: bits(TYPE, MODE, ID, KEY),
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

/** A loop, since most ids are a few characters: nothing has to be entered and left, as for a regular expression. */
export function isId(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    const lower = c | 32;
    const isLetter = lower >= 97 && lower <= 122;
    if (!isLetter && !(c >= ZERO && c <= NINE) && c !== UNDERSCORE && c !== MINUS) return false;
  }
  return text !== '';
}
export const ID_FORM = 'letters, digits, "_" and "-"';

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
  return id === undefined || isId(id) ? undefined : badValue(name, 'id', id, ID_FORM);
}

/** The event of an action whose attributes and body have been checked, fields always in the same order. */
export function actionIntent(
  { attributes }: ReadTag,
  body: Envelope,
  id: string,
  { place, last }: Elements,
  repaired: boolean,
): ActionIntent {
  const { name, template, parameters = {} } = body;
  const inParallel = last.parallel >= 0;
  const type = attributes.values[TYPE];
  const mode = attributes.values[MODE];
  const kind = type === 'context_feed' ? 'internal' : type;
  let intent: Record<string, unknown>;
  if (template === undefined) {
    const asked = inParallel ? 'async' : (mode ?? 'async');
    intent = { type: 'action', id, kind: kind ?? 'tool', mode: asked, name, parameters };
  } else {
    intent = { type: 'action', id };
    if (kind !== undefined) intent.kind = kind;
    if (mode !== undefined) intent.mode = inParallel ? 'async' : mode;
    if (name !== undefined) intent.name = name;
    intent.parameters = parameters;
  }
  if (body.output_key !== undefined) intent.output_key = body.output_key;
  if (body.depends_on !== undefined) intent.depends_on = body.depends_on;
  if (body.timeout !== undefined) intent.timeout = body.timeout;
  if (body.retry !== undefined) intent.retry = body.retry;
  if (body.on_error !== undefined) intent.on_error = body.on_error;
  if (body.if !== undefined) intent.if = body.if;
  if (body.compensate !== undefined) intent.compensate = body.compensate;
  if (template !== undefined) intent.template = template;
  if (place !== 'outside') intent.in = place;
  if (repaired) intent.repaired = true;
  return intent as unknown as ActionIntent;
}
