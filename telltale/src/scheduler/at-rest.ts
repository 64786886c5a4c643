import { completesStep, isReported, rollsBack } from '../events/action.ts';
import { NONE } from '../kernel/grow.ts';
import type { Node } from './graph.ts';
import { awaitsOutside } from './outside.ts';
import type { Run } from './run.ts';
import { trackedIds, waitsForAny } from './tracked.ts';
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

/** Tracked actions that wait neither for people, nor for what does. */
export function movingIds(works: Works): readonly string[] {
  const tracked = trackedIds(works);
  if (tracked.length === 0) return tracked;
  const resting = new Set<Node>();
  for (const run of works.runs.values()) if (waitsForPeople(works, run)) resting.add(run.node);
  if (resting.size === 0) return tracked;
  if (isAtRest(works)) return NONE;
  return tracked.filter((id) => {
    const node = works.runs.get(id)?.node;
    return node !== undefined && !resting.has(node) && !waitsForAny(node, resting);
  });
}

function waitsForPeople({ deps }: Works, { stage, action }: Run): boolean {
  if (stage.at === 'clearing') return deps.asks?.(action.id) !== false;
  return stage.at === 'running' && deps.rests?.(action.id) === true;
}

function waitsForOthers(works: Works, { stage, action }: Run): boolean {
  if (stage.at === 'waiting') return true;
  // Where those at rest have all places, whoever stands behind them cannot begin either.
  if (stage.at === 'queued') return works.places <= 0;
  if (stage.at !== 'running') return false;
  if (rollsBack(action)) return some(works, ({ undoes }) => undoes !== undefined);
  return completesStep(action) && some(works, (run) => isReported(run.action) && waitsForPeople(works, run));
}

function some({ runs }: Works, fits: (run: Run) => boolean): boolean {
  for (const run of runs.values()) if (fits(run)) return true;
  return false;
}
