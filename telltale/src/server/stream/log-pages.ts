import type { Turnstile } from '../../kernel/turnstile.ts';
import type { Store } from '../../store/store.ts';
import type { StreamLimits } from './stream-limits.ts';

const FIRST_PAGE = 100;

/** The lines of a log from `from` on, as many as make about a page. */
export type ReadPage = (from: number) => Promise<readonly string[]>;

/** The size of a page follows that of the events read last: a log of large ones costs no more memory. */
export function createLogPages(
  store: Store,
  stream: string,
  { pageBytes, pageEvents }: Pick<StreamLimits, 'pageBytes' | 'pageEvents'>,
  turnstile: Turnstile,
): ReadPage {
  let limit = Math.min(FIRST_PAGE, pageEvents);
  return async (from) => {
    const lines = await turnstile(() => store.read(stream, { from, limit }));
    const chars = lines.reduce((sum, line) => sum + line.length, 0);
    if (lines.length > 0)
      limit = Math.max(1, Math.min(pageEvents, Math.floor((pageBytes * lines.length) / chars)));
    return lines;
  };
}
