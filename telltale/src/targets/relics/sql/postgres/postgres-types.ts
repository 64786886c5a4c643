import type { Json } from '../../../../kernel/json.ts';

/** What a type's text, as the server writes it, is in JSON. */
type Read = (text: string) => Json;

/** Digits that a number of JSON keeps whoever reads it. */
const SAFE_DIGITS = 15;

/** A whole number beyond 2^53 stays text. */
const whole: Read = (text) => (Number.isSafeInteger(Number(text)) ? Number(text) : text);

/** A decimal with more digits than a number keeps stays text, and so do NaN and the infinities. */
const decimal: Read = (text) => {
  const digits = text.replace(/^-?0*|\.|0+$/g, '').length;
  return /^-?\d+(?:\.\d+)?$/.test(text) && digits <= SAFE_DIGITS ? Number(text) : text;
};

const float: Read = (text) => (Number.isFinite(Number(text)) ? Number(text) : text);

/** As ISO 8601 has it, to the microsecond: `2026-01-02T03:04:05.678901+01:00`. */
const moment: Read = (text) =>
  text
    .replace(/^(\d{4,}-\d\d-\d\d) /, '$1T')
    .replace(/([+-]\d\d)(:\d\d)?$/, (_, hours, minutes) => hours + (minutes ?? ':00'));
const localMoment: Read = (text) => text.replace(/^(\d{4,}-\d\d-\d\d) /, '$1T');

/** `\x…` as base64. */
const bytes: Read = (text) =>
  text.startsWith('\\x') ? Buffer.from(text.slice(2), 'hex').toString('base64') : text;

const json: Read = (text) => JSON.parse(text) as Json;
const asIs: Read = (text) => text;

/** By the type's number, and that of its lists. */
const TYPES: readonly (readonly [oid: number, list: number, read: Read])[] = [
  [16, 1000, (text) => text === 't' || text === 'true'],
  [17, 1001, bytes],
  [20, 1016, whole],
  [21, 1005, whole],
  [23, 1007, whole],
  [26, 1028, whole],
  [700, 1021, float],
  [701, 1022, float],
  [1700, 1231, decimal],
  [1114, 1115, localMoment],
  [1184, 1185, moment],
  [114, 199, json],
  [3802, 3807, json],
  // text, varchar, char, name, uuid, date, time, timetz, interval, inet
  [25, 1009, asIs],
  [1043, 1015, asIs],
  [1042, 1014, asIs],
  [19, 1003, asIs],
  [2950, 2951, asIs],
  [1082, 1182, asIs],
  [1083, 1183, asIs],
  [1266, 1270, asIs],
  [1186, 1187, asIs],
  [869, 1041, asIs],
];

/** The type of texts, whose parser of lists reads those of every type. */
export const TEXT_LIST = 1009;

/** `readList` takes a list apart into texts and nulls, lists in lists included. All other types stay text. */
export function typeReaders(readList: (text: string) => unknown): (oid: number) => Read {
  const readers = new Map<number, Read>();
  for (const [oid, list, read] of TYPES) {
    readers.set(oid, read);
    readers.set(list, (text) => deep(readList(text), read));
  }
  return (oid) => readers.get(oid) ?? asIs;
}

function deep(value: unknown, read: Read): Json {
  if (Array.isArray(value)) return value.map((each: unknown) => deep(each, read));
  return value === null || value === undefined ? null : read(String(value));
}
