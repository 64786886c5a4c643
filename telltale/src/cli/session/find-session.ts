import { nearest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Store, StreamInfo } from '../../store/store.ts';

/** Sessions that are looked through for a part of an id. */
const MAX_SEARCHED = 10_000;
const MAX_NAMED = 5;

/** The session that an argument means: its id, the beginning or the end of one, or `last`. */
export async function findSession(store: Store, asked: string): Promise<StreamInfo> {
  const exact = await store.info(asked);
  if (exact !== undefined) return exact;
  const known = await store.list({ kind: 'session', limit: MAX_SEARCHED });
  if (known.length === 0) throw noSessions(store.location);
  if (asked === 'last') return newest(known);
  const parts = asked === '' ? [] : known.filter(({ stream }) => isPart(stream, asked));
  // What begins as a session does, its sub-agents' sessions do, too.
  const own = parts.filter(({ parent }) => !parts.some(({ stream }) => stream === parent));
  const matching = own.length > 0 ? own : parts;
  const [only] = matching;
  if (only === undefined) throw sessionUnknown(asked, known);
  if (matching.length > 1) throw sessionAmbiguous(asked, matching);
  return only;
}

const isPart = (id: string, asked: string) => id.startsWith(asked) || id.endsWith(asked);

/** A session that another one started is not what somebody means who has just run an agent. */
function newest(known: readonly StreamInfo[]): StreamInfo {
  return (known.find(({ parent }) => parent === undefined) ?? known[0]) as StreamInfo;
}

const noSessions = (location: string) =>
  new RuntimeError('session_unknown', `There are no sessions in ${location}.`, {
    hint: 'Start one with: telltale run MANIFEST "what to do"',
  });

const sessionUnknown = (asked: string, known: readonly StreamInfo[]) => {
  const near = nearest(
    asked,
    known.map(({ stream }) => stream),
  );
  return new RuntimeError('session_unknown', `There is no session '${asked}'.`, {
    hint: `${near === undefined ? '' : `Did you mean "${near}"? `}"telltale sessions" lists them; "last" is the newest.`,
  });
};

const sessionAmbiguous = (asked: string, matching: readonly StreamInfo[]) => {
  const named = matching.slice(0, MAX_NAMED).map(({ stream }) => stream);
  const more = matching.length - named.length;
  return new RuntimeError('session_ambiguous', `'${asked}' may be any of ${matching.length} sessions.`, {
    hint: `Write more of the id: ${named.join(', ')}${more > 0 ? ` or ${more} more` : ''}.`,
  });
};
