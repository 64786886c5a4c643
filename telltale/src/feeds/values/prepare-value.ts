import { setImmediate as turn } from 'node:timers/promises';
import { evaluate } from '../../expressions/cel/evaluate.ts';
import { parseExpression } from '../../expressions/cel/parse-expression.ts';
import { compilePattern } from '../../expressions/linear-regex.ts';
import { PLAIN_NAME, parsePath } from '../../expressions/path.ts';
import { asText, readPath } from '../../expressions/values.ts';
import { RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { feedText } from '../../lib/text.ts';
import type { LoadTokenizer } from '../../lib/tokens.ts';
import type { Feed } from '../feed.ts';
import { MAX_FEED_VALUE } from '../max-feed-value.ts';
import { cutText } from './cut-text.ts';

/** What a feed may take of the prompt where it does not say. */
export const DEFAULT_MAX_TOKENS = 4_000;

export interface PrepareValuePreparedValue {
  /** The text that is left, where it was cut. */
  readonly value: Json;
  readonly tokens: number;
  readonly truncated?: number;
}

export interface PrepareValuePrepareDeps {
  readonly tokenizer: LoadTokenizer;
  /** What CEL sees beside `value`; asked for only where there is CEL. */
  readonly context: () => JsonObject;
}

/** What a source gave, as it is shown and as `$id` stands for it: transformed, counted and cut. */
export async function prepareValue(
  feed: Pick<Feed, 'id' | 'transform' | 'max_tokens' | 'inject'>,
  raw: Json,
  { tokenizer, context }: PrepareValuePrepareDeps,
): Promise<PrepareValuePreparedValue> {
  const value = await transformValue(feed, raw, context);
  const text = feedText(value);
  const counter = await tokenizer();
  const maxTokens = feed.max_tokens ?? (feed.inject === 'reference' ? undefined : DEFAULT_MAX_TOKENS);
  if (maxTokens === undefined) return { value, tokens: counter.count(text) };
  const { text: kept, tokens, truncated } = await cutText(text, maxTokens, counter);
  return truncated === undefined ? { value, tokens } : { value: kept, tokens, truncated };
}

type Transformation = Feed['transform'][number];

/** The value behind the whole chain. Rejects with `feed_transform`, which says which link of it failed. */
async function transformValue(
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

/** `{value}`, `{value.items[0].name}`, `{value["a b"]}`; other braces are text. */
const PLACE = /\{(value(?:\.[A-Za-z_][\w-]*|\[\d{1,9}\]|\["(?:[^"\\]|\\.){0,200}"\])*)\}/g;

/** A template with the value in it. A path that leads nowhere leaves nothing: a source may change its shape. */
function fillValue(template: string, value: Json): string {
  let text = '';
  let from = 0;
  for (const { 0: place, 1: path = '', index } of template.matchAll(PLACE)) {
    text += template.slice(from, index) + textAt(path, value);
    from = index + place.length;
    if (text.length > MAX_FEED_VALUE) throw tooLong();
  }
  return text + template.slice(from);
}

function textAt(path: string, value: Json): string {
  const parsed = parsePath(path, PLAIN_NAME);
  const found = parsed.ok ? readPath({ value }, parsed.value) : undefined;
  return found === undefined || found === null ? '' : asText(found as Json);
}

const tooLong = () =>
  new RuntimeError('feed_too_large', `The filled template has more than ${MAX_FEED_VALUE} characters.`, {
    hint: 'Put a part of the value into it: {value.name}.',
  });

/** Characters times instructions that are searched before everything else gets its turn: 20 ms at the worst. */
const TURN_WORK = 262_144;
/** Of one search: a megabyte with a pattern of 128 instructions, 10 s at the very worst. */
const MAX_WORK = 134_217_728;

/** The first lines of a text, items of a list or properties of an object; anything else as it is. */
const firstOf = (value: Json, count: number): Json => part(value, (all) => all.slice(0, count));

/** The last ones, likewise. */
const lastOf = (value: Json, count: number): Json => part(value, (all) => all.slice(-count));

function part(value: Json, take: <T>(all: readonly T[]) => readonly T[]): Json {
  if (typeof value === 'string') return take(linesOf(value)).join('\n');
  if (Array.isArray(value)) return take(value as readonly Json[]);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(take(Object.entries(value as JsonObject)));
}

/** Without the empty one behind a newline at the end. */
function linesOf(text: string): readonly string[] {
  const lines = text.split('\n');
  if (lines.length > 1 && lines.at(-1) === '') lines.pop();
  return lines;
}

/**
 * Lines of a text, or items of a list, that the pattern is found in; anything else is searched as the text that it is
 * shown as. Of a line that is too long for the pattern (65,536 characters, fewer for a large one) its beginning counts.
 */
async function matchingLines(value: Json, source: string): Promise<Json> {
  const compiled = compilePattern(source);
  if (!compiled.ok)
    throw new RuntimeError('bad_pattern', compiled.error.message, { hint: compiled.error.hint });
  const pattern = compiled.value;
  const items: readonly Json[] = Array.isArray(value) ? value : linesOf(textOf(value));
  const kept: Json[] = [];
  let work = 0;
  let turnEnds = TURN_WORK;
  for (const item of items) {
    const line = asText(item).slice(0, pattern.maxLength);
    work += (line.length + 1) * pattern.programSize;
    if (work > MAX_WORK) throw tooMuchWork(source);
    if (pattern.test(line)) kept.push(item);
    if (work < turnEnds) continue;
    await turn();
    turnEnds = work + TURN_WORK;
  }
  return Array.isArray(value) ? kept : kept.join('\n');
}

const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));

const tooMuchWork = (source: string) =>
  new RuntimeError('bad_pattern', `Searching all lines for "${source.slice(0, 100)}" would take too long.`, {
    hint: 'Take fewer lines first (head, tail), or use a smaller pattern.',
  });
