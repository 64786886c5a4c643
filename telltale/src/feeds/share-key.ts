import { createHash } from 'node:crypto';
import { parseExpression } from '../conditions/cel/parse-expression.ts';
import type { Json, JsonObject } from '../kernel/json.ts';
import { canonicalJson } from '../manifest/project/canonical-json.ts';
import type { Feed } from './feed.ts';

/** How long sessions of one agent share a value of this feed; undefined where they do not. */
export function sharedFor({ cache_scope, cache_ttl, source, transform }: Feed): number | undefined {
  if (cache_scope !== 'agent' || cache_ttl === undefined || cache_ttl.ms === 0) return undefined;
  // These say something of the session itself.
  if (source.type === 'metadata' || source.type === 'internal' || source.type === 'agent') return undefined;
  const ofSession = transform.some((link) => 'cel' in link && readsSession(link.cel));
  return ofSession ? undefined : cache_ttl.ms;
}

/** Whether an expression reads more than `value`: its outcome is then the session's own. */
function readsSession(cel: string): boolean {
  const parsed = parseExpression(cel);
  return !parsed.ok || parsed.value.names.some(({ root }) => root !== 'value');
}

/** The same for the same feed, defined alike and asked for the same: whichever session asks, and on whichever machine. */
export function shareKey(feed: Feed, params: JsonObject): string {
  const definition = canonicalJson({ feed: feed as unknown as Json, params });
  return `${feed.id}:${createHash('sha256').update(definition).digest('hex')}`;
}
