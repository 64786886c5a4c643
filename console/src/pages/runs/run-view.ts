import { createContext, useContext } from 'react';
import type { RunState } from '../../../../telltale/src/log/run-state.ts';
import type { LogView } from '../log/log-view.ts';
import type { RunModel } from './model/run-model.ts';

/** The state that all parts of the page share. */
export interface RunView extends LogView {
  readonly model: RunModel;
  /** The run's state at the shown moment. */
  readonly state: RunState;
  /** The last event that counts at that moment. */
  readonly seq: number;
}

export const RunViewContext = createContext<RunView | null>(null);

export function useRunView(): RunView {
  const view = useContext(RunViewContext);
  if (view === null) throw new Error('useRunView stands outside of a run page.');
  return view;
}
