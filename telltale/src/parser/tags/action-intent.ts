import { ACTION_KINDS, ACTION_MODES, ON_ERROR as CHOICES } from '../../lib/calls.ts';
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import { BODY_FIELDS, type Envelope, isVariableName, makeIntent } from '../envelope/envelope.ts';
import { ID_FORM, isId } from '../envelope/ids.ts';
import type { ActionIntent } from '../intents.ts';
import { readJsonAt } from '../json/tolerant-json.ts';
import type { Elements } from './elements.ts';
import { badValue, type Fault, repeatedAttribute, unknownAttribute, unreadableAttributes } from './faults.ts';
import type { TagName } from './names.ts';
import {
  AS,
  ATTRIBUTE_NAMES,
  DEPENDS_ON,
  FINAL,
  ID,
  IN,
  KEY,
  LITERAL,
  MODE,
  NAME,
  ON_ERROR,
  OTHER,
  OUTPUT_KEY,
  RETRY,
  TEST,
  TIMEOUT,
  TYPE,
} from './names.ts';
import { SPAN, type TagScan } from './tag-scan.ts';

/** Fields of the envelope that an `<action>` may have as attributes, by code. */
const CODES = [NAME, OUTPUT_KEY, DEPENDS_ON, TIMEOUT, RETRY, ON_ERROR, LITERAL];
const FIELD_BITS = CODES.reduce((bits, code) => bits | (1 << code), 0);
const NAME_BIT = 1 << NAME;

const DECIMAL = /^\d+(?:\.\d+)?$/;
/** An id, also of one round of a `<foreach>`. */
const ID_FIELD = /^[A-Za-z0-9_-]+(?:\[\d+\])*$/;
const BEYOND_ENVELOPE: readonly string[] = ['type', 'mode', 'id'];

/** Whether it names its target, so that its body is the parameters and may be empty. */
export const hasName = ({ present }: ActionIntentAttributes): boolean => (present & NAME_BIT) !== 0;

export interface BadField {
  readonly field: string;
  readonly value: string;
  readonly allowed: string;
}

/** The first attribute with a value that its field cannot have. */
function badField({ present, values }: ActionIntentAttributes): BadField | undefined {
  if ((present & FIELD_BITS) === 0) return undefined;
  for (const code of CODES) {
    const value = values[code];
    if (value === undefined || read(code, value) !== undefined) continue;
    return { field: ATTRIBUTE_NAMES[code] ?? '', value, allowed: ALLOWED[code] ?? '' };
  }
  return undefined;
}

const ALLOWED: Readonly<Record<number, string>> = {
  [NAME]: 'a name that is not empty',
  [OUTPUT_KEY]: 'a name of letters, digits, "_" and "-", not beginning with a digit',
  [DEPENDS_ON]: 'ids of actions, such as ["a1", "fetch"] or "a1, fetch"',
  [TIMEOUT]: 'a decimal number of seconds above 0',
  [RETRY]: 'a whole number of further tries, 0 or more',
  [ON_ERROR]: CHOICES.join(', '),
  [LITERAL]: 'true, false',
};

/** What the field comes to; undefined where the value is not allowed. */
function read(code: number, value: string): Json | undefined {
  switch (code) {
    case NAME:
      return value === '' ? undefined : value;
    case OUTPUT_KEY:
      return isVariableName(value) ? value : undefined;
    case DEPENDS_ON:
      return readIds(value);
    case TIMEOUT:
      return readNumber(value, (seconds) => seconds > 0);
    case RETRY:
      return readNumber(value, Number.isInteger);
    case ON_ERROR:
      return CHOICES.includes(value as never) ? value : undefined;
    default: {
      const word = value.toLowerCase();
      return word === 'true' ? true : word === 'false' ? false : undefined;
    }
  }
}

function readNumber(value: string, isAllowed: (number: number) => boolean): number | undefined {
  const number = DECIMAL.test(value) ? Number(value) : Number.NaN;
  return Number.isFinite(number) && isAllowed(number) ? number : undefined;
}

/** A JSON array, or ids parted by commas or white space, in brackets or not. */
function readIds(value: string): readonly string[] | undefined {
  const text = value.trim();
  if (text.startsWith('[')) {
    const { value: list, end } = readJsonAt(text, 0);
    if (end === text.length && text.endsWith(']') && Array.isArray(list))
      return list.every((id) => typeof id === 'string' && id !== '') ? list : undefined;
  }
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  const ids = bare.split(/[\s,]+/).filter((id) => id !== '');
  return ids.every((id) => ID_FIELD.test(id)) ? ids : undefined;
}

/**
 * The envelope of an action with fields as attributes, or what is wrong with it, in words for the model. With a name
 * there, the body is the parameters themselves, unless it is an envelope.
 */
export function withFields(
  { present, values }: ActionIntentAttributes,
  body: JsonObject,
): JsonObject | string {
  if ((present & FIELD_BITS) === 0) return body;
  const isBare = (present & NAME_BIT) !== 0 && !isEnvelope(body);
  const envelope: Record<string, Json> = isBare ? { parameters: body } : { ...body };
  for (const code of CODES) {
    const value = values[code];
    if (value === undefined) continue;
    const field = ATTRIBUTE_NAMES[code] ?? '';
    const given = read(code, value) ?? null;
    const other = envelope[field] ?? null;
    if (other !== null && JSON.stringify(other) !== JSON.stringify(given))
      return givenTwice(field, given, other);
    envelope[field] = given;
  }
  return envelope;
}

/** An object whose `parameters` is an object, and whose other keys are all fields of an action. */
const isEnvelope = (body: JsonObject): boolean =>
  isJsonObject(body.parameters) &&
  Object.keys(body).every((key) => BODY_FIELDS.includes(key) || BEYOND_ENVELOPE.includes(key));

const givenTwice = (field: string, attribute: Json, body: Json): string =>
  `"${field}" is ${clipped(attribute)} in the tag and ${clipped(body)} in the JSON. Write it in one of them only.`;

function clipped(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

/** An opening tag as it was read. */
export interface ReadTag {
  readonly name: TagName;
  readonly attributes: ActionIntentAttributes;
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

/** The attributes of a finished tag. */
export interface ActionIntentAttributes {
  /** By code; undefined where it is absent. A bare attribute has the value `true`. */
  readonly values: readonly (string | undefined)[];
  /** One bit for each code that is present. */
  readonly present: number;
  /** The first name that is not known to any tag. */
  readonly other: string | undefined;
  /** The first name that stands twice; its first value holds. */
  readonly repeated: string | undefined;
}

export const NO_ATTRIBUTES: ActionIntentAttributes = {
  values: [],
  present: 0,
  other: undefined,
  repeated: undefined,
};
const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

/** Reads what the scan found in `tag`, its text from `<` to `>`. */
export function readAttributes(scan: TagScan, tag: string): ActionIntentAttributes {
  const { spans, spanCount } = scan;
  if (spanCount === 0) return NO_ATTRIBUTES;
  const escapes = tag.includes('&');
  const values: (string | undefined)[] = [];
  let present = 0;
  let others: Set<string> | undefined;
  let repeated: string | undefined;
  for (let i = 0; i < spanCount; i += SPAN) {
    const code = spans[i] ?? OTHER;
    if (code === OTHER) {
      const name = tag.slice(spans[i + 1], spans[i + 2]);
      others ??= new Set();
      if (others.has(name)) repeated ??= name;
      others.add(name);
    } else if ((present & (1 << code)) !== 0) repeated ??= ATTRIBUTE_NAMES[code];
    else {
      const from = spans[i + 3] ?? -1;
      present |= 1 << code;
      const value = from < 0 ? 'true' : tag.slice(from, spans[i + 4]);
      values[code] = escapes ? decode(value) : value;
    }
  }
  return { values, present, other: others?.values().next().value, repeated };
}

/** The five entities, once: `&amp;lt;` is `&lt;`. */
function decode(value: string): string {
  return value.replace(/&(lt|gt|amp|quot|apos);/g, (_, name: string) => ENTITIES[name] ?? '');
}
