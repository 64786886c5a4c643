import { createContext, useContext } from 'react';
import type { Moment } from './model/action-phases.ts';
import type { SessionModel } from './model/session-model.ts';

/** What every part of the page looks at. */
export interface SessionView {
  readonly id: string;
  readonly model: SessionModel;
  /** Goes up when the model has changed. */
  readonly version: number;
  /** The event that the page shows, and the time up to which bars are drawn. */
  readonly moment: Moment;
  /** Whether that is the newest there is. */
  readonly isLive: boolean;
  /** Shows the session as it was at an event; undefined: as it is. */
  readonly seek: (seq: number | undefined) => void;
  /** The event that is looked at. */
  readonly selected: number | undefined;
  readonly select: (seq: number | undefined) => void;
}

export const SessionViewContext = createContext<SessionView | null>(null);

export function useSessionView(): SessionView {
  const view = useContext(SessionViewContext);
  if (view === null) throw new Error('useSessionView stands outside of a session page.');
  return view;
}
