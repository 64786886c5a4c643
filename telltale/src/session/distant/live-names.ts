import { createHash } from 'node:crypto';

/** Where followers ask for what is live. Every process that works on sessions listens to it. */
export const ASKS = 'asks';

/** Where processes tell which streams have news for lists. */
export const HEADLINES = 'headlines';

/** Longer names of sessions go by their hash: that of a channel travels with every message. */
const MAX_NAME = 100;

/** Where the live events of a session are told. */
export const channelOf = (session: string): string =>
  session.length <= MAX_NAME
    ? `live ${session}`
    : `long ${createHash('sha256').update(session).digest('base64url')}`;

/** What is asked for: a session's live events, beginning with what is open of its speech, or headlines. */
export type Ask = { readonly kind: 'session'; readonly session: string } | { readonly kind: 'headlines' };

const ASKS_HEADLINES = 'headlines';
const ASKS_SESSION = 'session ';

export const askText = (ask: Ask): string =>
  ask.kind === 'headlines' ? ASKS_HEADLINES : ASKS_SESSION + ask.session;

/** Undefined for what another version may ask. */
export function readAsk(text: string): Ask | undefined {
  if (text === ASKS_HEADLINES) return { kind: 'headlines' };
  return text.startsWith(ASKS_SESSION)
    ? { kind: 'session', session: text.slice(ASKS_SESSION.length) }
    : undefined;
}
