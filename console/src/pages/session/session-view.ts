import { createContext, useContext } from 'react';
import type { LogView } from '../log/log-view.ts';
import type { Moment } from './model/action-phases.ts';
import type { SessionModel } from './model/session-model.ts';

/** The state that all parts of the page share. */
export interface SessionView extends LogView {
  readonly model: SessionModel;
  /** The shown event, and the time up to which bars are drawn. */
  readonly moment: Moment;
}

export const SessionViewContext = createContext<SessionView | null>(null);

export function useSessionView(): SessionView {
  const view = useContext(SessionViewContext);
  if (view === null) throw new Error('useSessionView stands outside of a session page.');
  return view;
}
