import { createContext, useContext } from 'react';
import type { RunState } from '../../../../telltale/src/events/run-state.ts';
import type { RunModel } from './model/run-model.ts';

/** What every part of the page looks at. */
export interface RunView {
  readonly id: string;
  readonly model: RunModel;
  /** Goes up when the model has changed. */
  readonly version: number;
  /** The state at the moment that is shown. */
  readonly state: RunState;
  /** The last event that counts at that moment. */
  readonly seq: number;
  readonly isLive: boolean;
  /** Shows the run as it was at an event; undefined: as it is. */
  readonly seek: (seq: number | undefined) => void;
  /** The event that is looked at. */
  readonly selected: number | undefined;
  readonly select: (seq: number | undefined) => void;
}

export const RunViewContext = createContext<RunView | null>(null);

export function useRunView(): RunView {
  const view = useContext(RunViewContext);
  if (view === null) throw new Error('useRunView stands outside of a run page.');
  return view;
}
