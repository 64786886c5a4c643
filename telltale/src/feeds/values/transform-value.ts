import { asText } from '../../conditions/as-text.ts';
import { evaluate } from '../../conditions/cel/evaluate.ts';
import { parseExpression } from '../../conditions/cel/parse-expression.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import { RuntimeError, toRuntimeError } from '../../kernel/runtime-error.ts';
import type { Feed } from '../feed.ts';
import { MAX_FEED_VALUE } from '../max-feed-value.ts';
import { fillValue } from './fill-value.ts';
import { firstOf, lastOf, matchingLines } from './take-lines.ts';

type Transformation = Feed['transform'][number];

/** The value behind the whole chain. Rejects with `feed_transform`, which says which link of it failed. */
export async function transformValue(
  { id, transform }: Pick<Feed, 'id' | 'transform'>,
  raw: Json,
  context: () => JsonObject,
): Promise<Json> {
  let value = raw;
  for (const [index, transformation] of transform.entries()) {
    try {
      value = await apply(transformation, value, context);
      checkSize(value);
    } catch (thrown) {
      const failed = `Transformation ${index + 1} (${Object.keys(transformation)[0]}) of the feed "${id}" failed`;
      throw transformFailed(failed, toRuntimeError(thrown));
    }
  }
  return value;
}

async function apply(link: Transformation, value: Json, context: () => JsonObject): Promise<Json> {
  if ('cel' in link) return byExpression(link.cel, value, context);
  // The library is read by those who use it.
  if ('jsonpath' in link) return (await import('./json-path.ts')).queryJson(link.jsonpath, value);
  if ('head' in link) return firstOf(value, link.head);
  if ('tail' in link) return lastOf(value, link.tail);
  if ('lines' in link) return matchingLines(value, link.lines);
  return fillValue(link.template, value);
}

function byExpression(source: string, value: Json, context: () => JsonObject): Json {
  const parsed = parseExpression(source);
  const result = parsed.ok ? evaluate(parsed.value, { ...context(), value }) : parsed;
  if (result.ok) return result.value;
  const { code, message, hint } = result.error;
  throw new RuntimeError(code, message, { hint });
}

function checkSize(value: Json): void {
  const size = asText(value).length;
  if (size > MAX_FEED_VALUE)
    throw new RuntimeError(
      'feed_too_large',
      `What it makes has ${size} characters; ${MAX_FEED_VALUE} are allowed.`,
      { hint: 'Take a part of it first: head, tail, lines or jsonpath.' },
    );
}

const transformFailed = (failed: string, { message, hint }: RuntimeError) =>
  new RuntimeError('feed_transform', `${failed}: ${message}`, {
    hint: hint ?? 'Look at what the source gives: telltale feeds shows it.',
  });
