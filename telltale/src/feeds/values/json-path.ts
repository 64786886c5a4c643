import type { JSONPathQuery } from 'json-p3';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';
import { parseJsonPath } from '../../manifest/json-path.ts';
import { MAX_FEED_VALUE } from '../max-feed-value.ts';

/** Values in what is searched: with the limits of the path itself a search takes half a second at the worst. */
const MAX_VALUES = 100_000;

/** What a JSONPath (RFC 9535) finds: the value itself where it can lead to one only, null if there is none; else a list. */
export function queryJson(path: string, value: Json): Json {
  const parsed = parseJsonPath(path);
  if (!parsed.ok) throw new RuntimeError('bad_path', parsed.error.message, { hint: parsed.error.hint });
  const query = parsed.value;
  if (countValues(value, MAX_VALUES) > MAX_VALUES) throw tooManyValues();
  const found: Json[] = [];
  let size = 0;
  for (const { value: each } of query.lazyQuery(value as Parameters<JSONPathQuery['lazyQuery']>[0])) {
    const json = each as Json;
    // What is found twice is paid for twice: it is written down twice.
    size += JSON.stringify(json).length;
    if (size > MAX_FEED_VALUE) throw tooLarge();
    found.push(json);
  }
  return query.singularQuery() ? (found[0] ?? null) : found;
}

/** Stops beyond `limit`. */
function countValues(value: Json, limit: number): number {
  const waiting: Json[] = [value];
  let count = 0;
  for (let next = waiting.pop(); next !== undefined && count <= limit; next = waiting.pop()) {
    count++;
    if (typeof next !== 'object' || next === null) continue;
    for (const inner of Object.values(next)) {
      if (waiting.length > limit) return limit + 1;
      waiting.push(inner);
    }
  }
  return count;
}

const tooManyValues = () =>
  new RuntimeError('feed_too_large', `The value holds more than ${MAX_VALUES} values.`, {
    hint: 'Take a part of it first: head, tail or cel.',
  });

const tooLarge = () =>
  new RuntimeError('feed_too_large', `What it finds has more than ${MAX_FEED_VALUE} characters.`, {
    hint: 'Use a narrower path.',
  });
