import { ON_ERROR as CHOICES } from '../../kernel/action-envelope.ts';
import { isJsonObject, type Json, type JsonObject } from '../../kernel/json.ts';
import { BODY_FIELDS, isVariableName } from '../envelope/envelope.ts';
import { readJsonAt } from '../json/tolerant-json.ts';
import {
  ATTRIBUTE_NAMES,
  DEPENDS_ON,
  LITERAL,
  NAME,
  ON_ERROR,
  OUTPUT_KEY,
  RETRY,
  TIMEOUT,
} from './attribute-names.ts';
import type { Attributes } from './attributes.ts';

/** Fields of the envelope that an `<action>` may have as attributes, by code. */
const CODES = [NAME, OUTPUT_KEY, DEPENDS_ON, TIMEOUT, RETRY, ON_ERROR, LITERAL];
export const FIELD_BITS = CODES.reduce((bits, code) => bits | (1 << code), 0);
const NAME_BIT = 1 << NAME;

const DECIMAL = /^\d+(?:\.\d+)?$/;
/** An id, also of one round of a `<foreach>`. */
const ID = /^[A-Za-z0-9_-]+(?:\[\d+\])*$/;
const BEYOND_ENVELOPE: readonly string[] = ['type', 'mode', 'id'];

/** Whether it names its target, so that its body is the parameters and may be empty. */
export const hasName = ({ present }: Attributes): boolean => (present & NAME_BIT) !== 0;

export interface BadField {
  readonly field: string;
  readonly value: string;
  readonly allowed: string;
}

/** The first attribute with a value that its field cannot have. */
export function badField({ present, values }: Attributes): BadField | undefined {
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
  return ids.every((id) => ID.test(id)) ? ids : undefined;
}

/**
 * The envelope of an action with fields as attributes, or what is wrong with it, in words for the model. With a name
 * there, the body is the parameters themselves, unless it is an envelope.
 */
export function withFields({ present, values }: Attributes, body: JsonObject): JsonObject | string {
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
