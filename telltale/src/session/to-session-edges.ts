import type { Opened } from './begin-session.ts';
import type { Begin } from './children/lineage.ts';
import type { RuntimeDeps } from './runtime-edges.ts';
import type { SessionDeps } from './session-edges.ts';

interface Beginning extends Pick<SessionDeps, 'stop' | 'talk' | 'rest'> {
  readonly deps: RuntimeDeps;
  readonly begin: Begin;
}

/** One record of what a session has of its runtime, of its beginning and of itself. */
export function toSessionDeps({ deps, begin, stop, talk, rest }: Beginning, opened: Opened): SessionDeps {
  const chosen = begin.kind === 'start' ? begin.start.onWaiting : begin.resume.onWaiting;
  return {
    // A copy: docs/decisions/copies.md
    runtime: deps,
    prepared: opened.prepared,
    log: opened.log,
    variables: opened.variables,
    writer: opened.writer,
    model: opened.model,
    origin: opened.origin,
    resumed: opened.resumed,
    sentBefore: opened.sentBefore,
    hasMail: opened.hasMail,
    invoke: opened.invoke,
    lineage: opened.lineage,
    lead: opened.lead,
    stop,
    talk,
    rest,
    group: begin.lineage?.group ?? begin.id,
    onWaiting: chosen ?? deps.onWaiting ?? 'release',
  };
}
