import type { SessionEvent } from '../../events/event.ts';
import type { RunEvent } from '../../events/run-event.ts';

export type WatchedEvent = SessionEvent | RunEvent;

/** Whose a stream is. */
export interface StreamPlace {
  /** The agent that nobody called: its rules count for all that it sets off. */
  readonly agent: string;
  /** Whether nobody above hears how it ended, and does something about it. */
  readonly isTop: boolean;
  /** The workflow of a run. */
  readonly workflow?: string;
}

export const isOfRun = <Event extends WatchedEvent>(event: Event): event is Event & RunEvent =>
  !('session' in event);

export const streamOf = (event: WatchedEvent): string => (isOfRun(event) ? event.run : event.session);

export function placeOf(event: WatchedEvent): StreamPlace | undefined {
  if (event.type === 'session.started') {
    const { agent, parent } = event;
    return { agent: parent?.agents[0] ?? agent, isTop: parent === undefined };
  }
  if (event.type !== 'workflow.started') return undefined;
  const { manifest, origin, workflow } = event;
  return {
    agent: origin.agents[0] ?? manifest.agent,
    isTop: origin.parent === undefined && origin.action === undefined && origin.leads !== true,
    workflow,
  };
}
