import { MORE } from './collapse.ts';
import type { Outbox } from './outbox.ts';
import { type Pace, PER_MINUTE, paceKey, WINDOW_MS } from './pace.ts';

const PAGE = 200;
/** Of the last minute; beyond that somebody may be told a little more than twenty times. */
const MAX_ROWS = 2_000;

/**
 * Takes up the minutes that are in hand from what the outbox has of them: a message that stands for many says when its
 * minute began, and where there is none yet, those that went out by themselves do.
 */
export async function restorePace(outbox: Pick<Outbox, 'list'>, pace: Pace, now: number): Promise<void> {
  const minutes = new Map<string, { since: number; count: number }>();
  const full = new Set<string>();
  let before: string | undefined;
  for (let read = 0; read < MAX_ROWS; read += PAGE) {
    const page = await outbox.list(undefined, before, PAGE);
    for (const info of page) {
      const key = paceKey(info);
      if (info.about === MORE) {
        // One that was tried waits for something else than the end of its minute.
        if (info.nextAt === undefined || info.attempts > 0 || info.nextAt <= now) continue;
        full.add(key);
        minutes.set(key, { since: info.nextAt - WINDOW_MS, count: PER_MINUTE });
      } else if (info.at > now - WINDOW_MS && info.at <= now && !full.has(key)) {
        const { since, count } = minutes.get(key) ?? { since: info.at, count: 0 };
        minutes.set(key, { since: Math.min(since, info.at), count: count + 1 });
      }
    }
    before = page.at(-1)?.id;
    if (page.length < PAGE || (page.at(-1)?.at ?? 0) <= now - WINDOW_MS) break;
  }
  for (const [key, { since, count }] of minutes) pace.restore(key, since, count);
}
