import { beginsWithADay } from '../../kernel/calendar-date.ts';
import type { Json } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { isMap } from '../../manifest/schema/is-map.ts';
import { readTime } from './read-time.ts';
import type { RelicStore } from './relic-store.ts';

export const FILTER = {
  type: 'string',
  minLength: 1,
  maxLength: 200,
  description: 'Only entries with this "level" or text.',
};

export const SINCE = {
  type: ['string', 'number'],
  description: 'Only entries since then: "1h", seconds, or a time (ISO 8601).',
};

export interface LogEntry {
  readonly n: number;
  readonly at: number;
  readonly value: Json;
}

export interface EntryQuery {
  readonly order: 'oldest' | 'newest';
  readonly after: number;
  readonly limit: number;
  readonly now: number;
  readonly filter?: Json;
  readonly since?: Json;
}

/** Entries that are looked at in one search. */
const MAX_SEARCHED = 20_000;
const PAGE = 200;

/**
 * Entries that are wanted, in order. A search ends after 20,000 entries: `isCut` says that there may be more. From the
 * newest on it also ends at the first that is too old, so that an hour of a large log costs what the hour holds.
 */
export async function findEntries(
  tables: RelicStore['tables'],
  list: string,
  { order, after, limit, now, filter, since }: EntryQuery,
): Promise<{ readonly entries: readonly LogEntry[]; readonly isCut: boolean }> {
  const from = since === undefined ? Number.NEGATIVE_INFINITY : momentOf(since, now);
  if (filter === undefined && since === undefined) {
    const options = order === 'newest' ? { last: limit } : { after, limit };
    return { entries: await tables.entries(list, options), isCut: false };
  }
  const wanted = filter === undefined ? () => true : matcher(String(filter));
  const newest = (await tables.entries(list, { last: 1 })).at(-1)?.n ?? 0;
  const found: LogEntry[] = [];
  let searched = 0;
  let isOver = false;
  const look = (entry: LogEntry): void => {
    searched++;
    if (entry.at < from) isOver ||= order === 'newest';
    else if (found.length < limit && wanted(entry.value)) found.push(entry);
  };
  let at = order === 'newest' ? newest : after;
  while (!isOver && found.length < limit && searched < MAX_SEARCHED) {
    const start = order === 'newest' ? Math.max(0, at - PAGE) : at;
    const size = order === 'newest' ? at - start : PAGE;
    const page = size === 0 ? [] : await tables.entries(list, { after: start, limit: size });
    const last = page.at(-1);
    if (last === undefined) break;
    for (const entry of order === 'newest' ? page.toReversed() : page) look(entry);
    at = order === 'newest' ? start : last.n;
  }
  const isDone = isOver || found.length >= limit || (order === 'newest' ? at === 0 : at >= newest);
  return { entries: order === 'newest' ? found.toReversed() : found, isCut: !isDone };
}

function matcher(filter: string): (value: Json) => boolean {
  const level = filter.toLowerCase();
  return (value) => {
    if (isMap(value) && typeof value.level === 'string' && value.level.toLowerCase() === level) return true;
    return (typeof value === 'string' ? value : JSON.stringify(value)).includes(filter);
  };
}

const MOMENT = /^\d{4}-\d{2}-\d{2}(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(Z|[+-]\d{2}:?\d{2})?)?$/i;

/** A time without a zone is UTC, on every machine. */
function momentOf(since: Json, now: number): number {
  const text = String(since).trim();
  const match = MOMENT.exec(text);
  if (match === null) {
    if (/^\d{4}-/.test(text)) throw noMoment(text);
    return now - readTime(since, '/since');
  }
  const [, time, zone] = match;
  const moment = beginsWithADay(text)
    ? Date.parse(time === undefined || zone !== undefined ? text : `${text.replace(' ', 'T')}Z`)
    : Number.NaN;
  if (Number.isNaN(moment)) throw noMoment(text);
  return moment;
}

const noMoment = (text: string) =>
  new RuntimeError('bad_parameters', `"/since" is "${text.slice(0, 60)}", which is no time.`, {
    hint: 'Write it like "1h", "30m", or 2026-01-31T12:00:00Z.',
  });
