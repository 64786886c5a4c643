import { completesStep, isTracked, rollsBack } from '../events/action.ts';
import { awaitsOutside } from './outside.ts';
import type { Run } from './run.ts';
import type { Works } from './works.ts';

/** Whether all that is unfinished waits for people, or for what does: nothing will move by itself. */
export function isAtRest(works: Works): boolean {
  let asks = false;
  if (awaitsOutside(works)) return false;
  for (const run of works.runs.values()) {
    if (waitsForPeople(works, run)) asks = true;
    else if (!waitsForOthers(works, run)) return false;
  }
  return asks;
}

function waitsForPeople({ edges }: Works, { stage, action }: Run): boolean {
  if (stage.at === 'clearing') return edges.asks?.(action.id) !== false;
  return stage.at === 'running' && edges.rests?.(action.id) === true;
}

function waitsForOthers(works: Works, { stage, action }: Run): boolean {
  if (stage.at === 'waiting') return true;
  // Where those at rest have all places, whoever stands behind them cannot begin either.
  if (stage.at === 'queued') return works.places <= 0;
  if (stage.at !== 'running') return false;
  if (rollsBack(action)) return some(works, ({ undoes }) => undoes !== undefined);
  return completesStep(action) && some(works, (run) => isTracked(run.action) && waitsForPeople(works, run));
}

function some({ runs }: Works, fits: (run: Run) => boolean): boolean {
  for (const run of runs.values()) if (fits(run)) return true;
  return false;
}
