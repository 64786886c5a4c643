import { toRuntimeError } from '../../lib/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import type { InboxMessage, StoredSnapshot } from '../store.ts';
import { checkName } from '../store-errors.ts';
import { importMalformed } from './append-committed.ts';
import { type DoneLine, type EndLine, type EntryLine, EVENT_PREFIX, frontOf } from './export-store.ts';
import type { StreamFront } from './pages.ts';
import { RESTORING, type TableRow } from './upkeep.ts';

/** What a line of an export says. */
export type ExportRecord =
  | { readonly kind: 'stream'; readonly front: StreamFront }
  /** As it is to stand on the log. */
  | { readonly kind: 'event'; readonly line: string }
  | { readonly kind: 'snapshot'; readonly snapshot: StoredSnapshot }
  | { readonly kind: 'message'; readonly message: Omit<InboxMessage, 'id'> }
  | { readonly kind: 'end'; readonly end: EndLine }
  | { readonly kind: 'row'; readonly row: TableRow }
  | { readonly kind: 'entry'; readonly entry: EntryLine }
  | { readonly kind: 'done'; readonly done: DoneLine };

const KINDS = ['stream', 'event', 'snapshot', 'message', 'end', 'row', 'entry', 'done'] as const;

/** Throws `import_malformed`, with the line and what is wrong with it. */
export function readRecord({ number, text }: NumberedLine): ExportRecord {
  const wrong = (found: string): never => {
    throw importMalformed(number, found);
  };
  const whole = parsed(text, wrong);
  const [kind = '', ...others] = Object.keys(whole);
  if (others.length > 0) return wrong(`It has the keys ${[kind, ...others].join(', ')}; a line has one.`);
  const value = whole[kind];
  const of = (what: string): RecordFields => fieldsOf(what, value, wrong);
  switch (kind as (typeof KINDS)[number] | 'damaged') {
    case 'event':
      return { kind: 'event', line: eventOf(text, value ?? null) };
    case 'stream':
      return { kind: 'stream', front: readStream(of('stream'), wrong) };
    case 'snapshot': {
      const { whole: seq, text: body } = of('snapshot');
      return { kind: 'snapshot', snapshot: { seq: seq('seq'), body: body('body') } };
    }
    case 'message': {
      const { whole: at, text: part, json } = of('message');
      return {
        kind: 'message',
        message: { at: at('at'), kind: part('kind'), from: part('from'), body: json('body') },
      };
    }
    case 'end': {
      const { whole: events, optionalText } = of('end');
      const sha256 = optionalText('sha256');
      return { kind: 'end', end: { events: events('events'), ...(sha256 === undefined ? {} : { sha256 }) } };
    }
    case 'row': {
      const { name, json, optionalWhole } = of('row');
      const expiresAt = optionalWhole('expires_at');
      const row = { table: name('table'), key: name('key'), value: json('value') };
      return { kind: 'row', row: { ...row, ...(expiresAt === undefined ? {} : { expiresAt }) } };
    }
    case 'entry': {
      const { name, whole: n, json } = of('entry');
      return {
        kind: 'entry',
        entry: { list: name('list'), n: n('n'), at: n('at'), value: json('value') },
      };
    }
    case 'done': {
      const { optionalWhole } = of('done');
      const counts: Record<string, number> = {};
      for (const each of ['streams', 'rows', 'entries']) {
        const count = optionalWhole(each);
        if (count !== undefined) counts[each] = count;
      }
      return { kind: 'done', done: counts };
    }
    case 'damaged':
      return wrong('This event could not be read when it was exported: the stream was damaged.');
  }
  return wrong(`There is no line of the kind "${kind.slice(0, 40)}". ${suggest(kind, KINDS, 'Kinds')}`);
}

function parsed(text: string, wrong: (found: string) => never): JsonObject {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (thrown) {
    return wrong(`It is not JSON (${shortened(toRuntimeError(thrown).message)}).`);
  }
  return isJsonObject(value) ? value : wrong('It is not a JSON object.');
}

const MAX_REASON = 120;
const shortened = (text: string) => (text.length > MAX_REASON ? `${text.slice(0, MAX_REASON)}…` : text);

/** The very text where the line has the form that an export writes; else the same value in a text of its own. */
function eventOf(text: string, value: Json): string {
  const isAsWritten = text.startsWith(EVENT_PREFIX) && text.endsWith('}');
  const body = isAsWritten ? text.slice(EVENT_PREFIX.length, -1) : '';
  return isAsWritten && isJson(body) ? body : JSON.stringify(value);
}

/** A key that stands twice in the line leaves a piece that is not JSON. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function readStream(
  { name, text, whole, optionalText, optionalWhole }: RecordFields,
  wrong: (found: string) => never,
): StreamFront {
  const kind = text('kind');
  if (kind !== 'session' && kind !== 'run') return wrong(`"kind" is "${kind}", not session or run.`);
  const [status, parent, due] = [text('status'), optionalText('parent'), optionalWhole('due')];
  if (status === RESTORING || status === '') return wrong(`"status" cannot be "${status}".`);
  return frontOf({
    id: name('id'),
    kind,
    name: text('name'),
    title: text('title'),
    status,
    ...(parent === undefined ? {} : { parent }),
    ...(due === undefined ? {} : { due }),
    created_at: whole('created_at'),
    updated_at: whole('updated_at'),
  });
}

interface RecordFields {
  text(key: string): string;
  /** One that a store can keep. */
  name(key: string): string;
  /** Of at least 0. */
  whole(key: string): number;
  json(key: string): Json;
  optionalText(key: string): string | undefined;
  optionalWhole(key: string): number | undefined;
}

function fieldsOf(what: string, value: Json | undefined, wrong: (found: string) => never): RecordFields {
  const object = isJsonObject(value) ? value : wrong(`"${what}" is no object.`);
  const find = (key: string): Json | undefined => (Object.hasOwn(object, key) ? object[key] : undefined);
  const text = (key: string): string => {
    const found = find(key);
    return typeof found === 'string' ? found : wrong(`"${key}" of "${what}" is no text.`);
  };
  const whole = (key: string): number => {
    const found = find(key);
    return typeof found === 'number' && Number.isSafeInteger(found) && found >= 0
      ? found
      : wrong(`"${key}" of "${what}" is not a whole number of at least 0.`);
  };
  return {
    text,
    name(key) {
      const found = text(key);
      try {
        checkName(`"${key}"`, found);
      } catch (thrown) {
        return wrong(toRuntimeError(thrown).message);
      }
      return found;
    },
    whole,
    json(key) {
      const found = find(key);
      return found === undefined ? wrong(`"${what}" has no "${key}".`) : found;
    },
    optionalText: (key) => (find(key) === undefined ? undefined : text(key)),
    optionalWhole: (key) => (find(key) === undefined ? undefined : whole(key)),
  };
}

export interface NumberedLine {
  /** From 1 on. */
  readonly number: number;
  readonly text: string;
}

/** Above the largest event that a log takes, and what a line puts around it. */
const MAX_LINE_BYTES = 96 * 1024 * 1024;
const LINE_FEED = 10;

/** Lines of UTF-8, without their ends. A line that is too long is refused before all of it is in memory. */
export async function* readLines(
  pieces: AsyncIterable<Uint8Array>,
  maxBytes = MAX_LINE_BYTES,
): AsyncGenerator<NumberedLine, void> {
  let parts: Uint8Array[] = [];
  let bytes = 0;
  let number = 1;
  const hold = (part: Uint8Array) => {
    bytes += part.length;
    if (bytes > maxBytes) throw importMalformed(number, `It is longer than ${maxBytes} bytes.`);
    if (part.length > 0) parts.push(part);
  };
  const take = (): NumberedLine => {
    const whole = parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
    const line = { number, text: decoded(whole, number) };
    parts = [];
    bytes = 0;
    number++;
    return line;
  };
  for await (const piece of pieces) {
    let from = 0;
    for (let at = piece.indexOf(LINE_FEED); at !== -1; at = piece.indexOf(LINE_FEED, from)) {
      hold(piece.subarray(from, at));
      yield take();
      from = at + 1;
    }
    hold(piece.subarray(from));
  }
  if (bytes > 0) yield take();
}

function decoded(bytes: Uint8Array, number: number): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: number !== 1 })
      .decode(bytes)
      .replace(/\r$/, '');
  } catch {
    throw importMalformed(number, 'It is no text in UTF-8.');
  }
}
