import type { Json, JsonObject } from '../../../kernel/json.ts';

/** Rounds of one call: a pattern that few keys match must not go through a server with millions of them. */
const MAX_ROUNDS = 100;
/** What the server looks at in a round, so that it never stops for long. */
const ROUND = 1_000;

/**
 * Keys that match, `limit` or a few more. `next` goes on where this left off; without it these were all. A key may come
 * twice over several calls, as SCAN has it.
 */
export async function scanKeys(
  pattern: string,
  cursor: string,
  limit: number,
  send: (...args: readonly string[]) => Promise<Json>,
): Promise<JsonObject> {
  const keys = new Set<string>();
  let at = cursor;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const count = pattern === '*' ? Math.min(limit - keys.size, ROUND) : ROUND;
    const reply = await send('SCAN', at, 'MATCH', pattern, 'COUNT', String(count));
    const [next, found] = reply as readonly [string | number, readonly Json[]];
    for (const key of found) keys.add(String(key));
    at = String(next);
    if (at === '0' || keys.size >= limit) break;
  }
  return { keys: [...keys], ...(at === '0' ? {} : { next: at }) };
}
