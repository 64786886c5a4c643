import type { Feed } from '../../feeds/feed.ts';
import { isOwnFeed } from '../../feeds/feed.ts';
import { isJsonObject, type Json, type JsonObject } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { feed as feedSchema } from '../../manifest/schema/feed.ts';
import { runSchema } from '../../manifest/schema/run-schema.ts';

const MAX_ISSUES = 5;
/** Of a definition that a model writes. */
const MAX_DEFINITION_CHARS = 16 * 1024;

/**
 * A feed as a manifest would write it, checked by the schema that checks manifests. One that names no source has that of
 * `declared`, the manifest's own. Throws `bad_feed`.
 */
export function readDefinition(written: JsonObject, declared?: Feed): Feed {
  const chars = JSON.stringify(written).length;
  if (chars > MAX_DEFINITION_CHARS)
    throw badFeed([`It has ${chars} characters; ${MAX_DEFINITION_CHARS} are allowed.`]);
  const whole =
    declared === undefined || written.source !== undefined
      ? written
      : { ...written, source: plain(declared).source ?? null };
  const { output, issues } = runSchema(feedSchema, whole);
  if (issues.length > 0)
    throw badFeed(
      issues
        .slice(0, MAX_ISSUES)
        .map(
          ({ message, hint, path }) => `${path.join('.')}: ${message}${hint === undefined ? '' : ` ${hint}`}`,
        ),
    );
  if (!isOwnFeed(output))
    throw badFeed(["Parts of the prompt that the runtime makes itself are the manifest's to switch off."]);
  if (output.type === 'periodic' && output.interval === undefined)
    throw badFeed(['interval: A periodic feed needs "interval": how often it is loaded, like 30s.']);
  if (output.type !== 'periodic' && output.interval !== undefined)
    throw badFeed(['interval: Only a periodic feed has "interval".']);
  return output;
}

/**
 * As a manifest would write it: what a feed of the manifest looks like once it was read. Without its source: that may
 * hold keys, which are neither the model's to see, nor to send elsewhere, nor the log's to keep.
 */
export function writtenFeed(feed: Feed): JsonObject {
  const { source: _, ...written } = plain(feed);
  for (const key of ['interval', 'cache_ttl'] as const) {
    const length = feed[key];
    if (length !== undefined) written[key] = length.ms / 1000;
  }
  return written;
}

const plain = (feed: Feed) => JSON.parse(JSON.stringify(feed)) as Record<string, Json>;

/** One definition with parts of another in their place: `source` piece by piece where its type stays. */
export function changedDefinition(before: JsonObject, changes: JsonObject): JsonObject {
  const merged: Record<string, Json> = { ...before, ...changes };
  const source = before.source;
  const given = changes.source;
  if (source === undefined && isJsonObject(given) && given.type === undefined)
    throw badFeed(['source: That of a feed of the manifest is changed as a whole: give its "type", too.']);
  if (isJsonObject(source) && isJsonObject(given) && (given.type === undefined || given.type === source.type))
    merged.source = { ...source, ...given };
  if (changes.type === 'on_demand' && changes.interval === undefined) delete merged.interval;
  return merged;
}

const badFeed = (problems: readonly string[]) =>
  new RuntimeError('bad_feed', `The feed cannot be taken: ${problems.join(' ')}`, {
    hint: 'Write it as {"id", "type", "source": {"type", "name" or "action", "params"}, "interval", "cache_ttl", "max_tokens", "inject"}.',
  });
