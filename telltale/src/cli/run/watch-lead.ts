import { decodeRunEvent } from '../../events/run-codec.ts';
import type { RunEvent, RunEventType } from '../../events/run-event.ts';
import { leadRun } from '../../session/guide/lead-run.ts';
import type { Store } from '../../store/store.ts';
import type { RunView } from './run-view.ts';

/** Events that are read at a time. */
const PAGE = 200;

/** What says how the run's own steps go. What the agent does for it is on the log of the session. */
const TOLD: ReadonlySet<RunEventType> = new Set([
  'state.entered',
  'step.started',
  'step.completed',
  'step.retrying',
  'step.failed',
  'step.interrupted',
  'step.compensated',
]);

export interface WatchedLead {
  /** The view, which is given what the run does before it is given what the session makes of it. */
  readonly view: RunView;
  /** Ends it, once all that is committed has been given. */
  stop(): Promise<void>;
}

/**
 * Gives a view what the run that leads a session does by itself, from the first event on that the view is shown of the
 * session. It costs a session that nobody leads nothing: its log is read when it has moved.
 */
export function watchLead(store: Store, session: string, view: RunView, isResumed: boolean): WatchedLead {
  const run = leadRun(session);
  const inside = new Set<string>();
  let since: number | undefined;
  let next = 1;
  let moved = isResumed;
  let tail: Promise<void> = Promise.resolve();

  const tell = async (event: RunEvent) => {
    if (event.type === 'step.started' && event.input === undefined) inside.add(event.step);
    if (!TOLD.has(event.type) || since === undefined || event.at < since) return;
    // Steps that stand around others say what those have said.
    if ('step' in event && event.step !== undefined && inside.has(event.step)) return;
    await view.lead(event);
  };
  const read = async () => {
    while (moved && since !== undefined) {
      moved = false;
      const lines = await store.read(run, { from: next, limit: PAGE });
      next += lines.length;
      for (const line of lines) await tell(decodeRunEvent(line, run));
      if (lines.length === PAGE) moved = true;
    }
  };
  const drain = () => {
    // What cannot be read is not shown: that a store is lost, the session itself says.
    tail = tail.then(read).catch(() => undefined);
    return tail;
  };
  const forget = store.watch(run, () => {
    moved = true;
    void drain();
  });
  return {
    view: {
      ...view,
      async show(event) {
        if ('at' in event) since ??= event.at;
        if (moved) await drain();
        await view.show(event);
      },
    },
    async stop() {
      forget();
      await drain();
    },
  };
}
