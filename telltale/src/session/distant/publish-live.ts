import type { Clock } from '../../kernel/clock.ts';
import { createIdSource } from '../../kernel/ids.ts';
import type { LiveWire } from '../../store/shared-store.ts';
import type { Runtime } from '../runtime-types.ts';
import { publishHeadlines } from './headline-publication.ts';
import { ASKS, HEADLINES, readAsk } from './live-names.ts';
import { publishSession, type SessionPublication } from './session-publication.ts';

export interface PublishLiveDeps {
  readonly runtime: Pick<Runtime, 'session' | 'watch'>;
  readonly live: LiveWire;
  readonly clock: Clock;
}

/**
 * Tells other processes what is live in this one, as far as they ask: the deltas of sessions, and which streams have news
 * for lists. Sessions that nobody asks for pay nothing, and those that were asked for pay as long as somebody listens.
 * Whoever follows asks anew where no answer comes and where a session goes on: an ask that is lost is no harm.
 */
export function publishLive({ runtime, live, clock }: PublishLiveDeps): { close(): void } {
  const ids = createIdSource({ clock });
  const sessions = new Map<string, SessionPublication>();
  const headlines = publishHeadlines({ runtime, live, clock });

  const publicationOf = (id: string): SessionPublication | undefined => {
    const known = sessions.get(id);
    if (known !== undefined) return known;
    const session = runtime.session(id);
    if (session === undefined) return undefined;
    const onOver = () => sessions.delete(id);
    const made = publishSession(session, { live, clock, by: ids.next(), onOver });
    sessions.set(id, made);
    return made;
  };

  const unlisten = live.listen(ASKS, {
    heard(text) {
      const ask = readAsk(text);
      if (ask?.kind === 'session') publicationOf(ask.session)?.ask();
      else if (ask?.kind === 'headlines') headlines.ask();
    },
    gap() {
      if (live.isHeard(HEADLINES)) headlines.ask();
    },
  });
  if (live.isHeard(HEADLINES)) headlines.ask();

  return {
    close() {
      unlisten();
      headlines.close();
      for (const publication of [...sessions.values()]) publication.close();
    },
  };
}
