import { NONE } from '../kernel/grow.ts';
import { createTalk } from './chat/talk.ts';
import type { Begin } from './children/lineage.ts';
import { createRest } from './children/rest.ts';
import { choiceOf } from './choice-of.ts';
import { type LiveParts, runLive } from './live-run.ts';
import type { RuntimeDeps, Seat } from './runtime-edges.ts';
import type { SessionDeps } from './session-edges.ts';
import { createSessionFace, type Live, type LiveSession } from './session-face.ts';
import type { SessionLog } from './session-log.ts';
import { createStop } from './stop.ts';
import { toSessionDeps } from './to-session-edges.ts';

/** A session that this process works on, from the moment it is asked for. It has a seat among `seats` until it is over. */
export function createLiveSession(
  deps: RuntimeDeps,
  begin: Begin,
  parts: () => Promise<LiveParts>,
  seats?: Set<Seat>,
): LiveSession {
  const live: Live = {
    // A copy: docs/decisions/copies.md
    deps,
    begin,
    stop: createStop(),
    talk: createTalk(),
    rest: createRest(),
    log: undefined,
    writer: undefined,
    prepared: undefined,
    early: NONE,
    seat: { session: undefined },
    queue: undefined,
    lastSeq: undefined,
  };
  const loading = parts();
  const ready = open(live, loading);
  ready.catch(ignore); // whoever waits for the result hears of it there
  const result = runLive(live, loading, ready, seats);
  result.catch(ignore); // a caller that only reads events is not ended by an error
  const session = createSessionFace(live, { ready, result });
  live.seat.session = session;
  seats?.add(live.seat);
  return session;
}

/** Makes the session this process's own, up to its first event. */
async function open(live: Live, loading: Promise<LiveParts>): Promise<SessionDeps> {
  const { deps, begin, stop } = live;
  const { beginSession } = await loading;
  const prepared = await deps.shelf.prepare(begin.agent, choiceOf(begin).model);
  live.prepared = prepared;
  const opened = await beginSession(deps, begin, stop, prepared, (made) => {
    live.writer = made.writer;
    live.log = made.log;
    // A new one is here from its first event on: its id may be another's.
    if (begin.kind === 'resume') deps.here.set(begin.id, live.seat);
    else onFirst(made.log, () => deps.here.set(begin.id, live.seat));
    live.queue?.attach(made.log);
    for (const early of live.early ?? NONE) {
      early.end?.(); // of a log that has given way to this one
      early.end = made.log.subscribe(early.listener);
    }
  });
  live.early = undefined;
  return toSessionDeps(live, opened);
}

function ignore(): void {
  // somebody else hears of it
}

/** Calls back at the first event that is committed, before anybody else hears of it. */
function onFirst(log: SessionLog, then: () => void): void {
  const forget = log.subscribe(() => {
    forget();
    then();
  });
}
