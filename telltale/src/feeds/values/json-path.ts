import { JSONPathEnvironment, type JSONPathQuery, jsonpath } from 'json-p3';
import { compilePattern, type Pattern } from '../../conditions/linear-regex.ts';
import type { Json } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { MAX_FEED_VALUE } from '../max-feed-value.ts';
import { checkCost } from './json-path-cost.ts';

const MAX_PATH_LENGTH = 512;
/** Values in what is searched: with the limits of the path itself a search takes half a second at the worst. */
const MAX_VALUES = 100_000;
const MAX_PATTERNS = 32;
/** Characters times instructions of all patterns of one search: 2 s at the very worst. */
const MAX_PATTERN_WORK = 16_777_216;

/** What a JSONPath (RFC 9535) finds: the value itself where it can lead to one only, null if there is none; else a list. */
export function queryJson(path: string, value: Json): Json {
  if (path.length > MAX_PATH_LENGTH) throw badPath(path, `has more than ${MAX_PATH_LENGTH} characters`);
  const query = compiled(path);
  checkCost(query, (why) => badPath(path, why));
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

function compiled(path: string): JSONPathQuery {
  try {
    return createEnvironment().compile(path);
  } catch (thrown) {
    throw badPath(path, `cannot be read: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
  }
}

/** The library's own `match` and `search` run JavaScript's regular expressions, which can hang. */
function createEnvironment(): JSONPathEnvironment {
  const environment = new JSONPathEnvironment();
  const patterns = new Map<string, Pattern>();
  const patternOf = (source: string): Pattern => {
    const known = patterns.get(source);
    if (known !== undefined) return known;
    const result = compilePattern(source);
    if (!result.ok) throw new RuntimeError('bad_pattern', result.error.message, { hint: result.error.hint });
    if (patterns.size === MAX_PATTERNS) patterns.clear();
    patterns.set(source, result.value);
    return result.value;
  };
  let work = 0;
  const test = (text: string, source: string): boolean => {
    const pattern = patternOf(source);
    work += (text.length + 1) * pattern.programSize;
    if (work > MAX_PATTERN_WORK) throw tooMuchWork(source);
    return pattern.test(text);
  };
  const { LogicalType, ValueType } = jsonpath.FunctionExpressionType;
  const define = (name: string, sourceOf: (pattern: string) => string) =>
    environment.functionRegister.set(name, {
      argTypes: [ValueType, ValueType],
      returnType: LogicalType,
      call: (text: unknown, pattern: unknown) =>
        typeof text === 'string' && typeof pattern === 'string' && test(text, sourceOf(pattern)),
    });
  define('match', (pattern) => `\\A(?:${pattern})\\z`);
  define('search', (pattern) => pattern);
  return environment;
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

const badPath = (path: string, why: string) =>
  new RuntimeError('bad_path', `The JSONPath "${path.slice(0, 100)}" ${why}.`, {
    hint: 'Write it like $.items[*].name or $.items[?@.level == "error"] (RFC 9535).',
  });

const tooManyValues = () =>
  new RuntimeError('feed_too_large', `The value holds more than ${MAX_VALUES} values.`, {
    hint: 'Take a part of it first: head, tail or cel.',
  });

const tooMuchWork = (source: string) =>
  new RuntimeError('bad_pattern', `Trying "${source.slice(0, 100)}" on all values would take too long.`, {
    hint: 'Take a part of the value first (head, tail), or use a smaller pattern.',
  });

const tooLarge = () =>
  new RuntimeError('feed_too_large', `What it finds has more than ${MAX_FEED_VALUE} characters.`, {
    hint: 'Use a narrower path.',
  });
