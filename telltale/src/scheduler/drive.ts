import { isTracked } from '../events/action.ts';
import { endTurn } from './core.ts';
import type { SchedulerEdges } from './edges.ts';
import { revived } from './failures.ts';
import { duplicateId } from './faults.ts';
import { shiftFifo } from './fifo.ts';
import { loopAction } from './loops.ts';
import { awaitsOutside, fromOutside } from './outside.ts';
import { apply } from './record.ts';
import { resolution } from './resolution.ts';
import { restore } from './restore.ts';
import { ended, failSession, rollback } from './rollback.ts';
import { QUEUED } from './run.ts';
import type { Scheduler, SchedulerOptions } from './scheduler.ts';
import { start } from './start.ts';
import { lose, openOf, stop, whenIdle } from './stop.ts';
import { freshLoopId, isTaken, openLoop, take } from './take.ts';
import { whenEnded } from './when-ended.ts';
import { createWorks, type Works } from './works.ts';

const NONE: readonly string[] = [];

const DECLARED = { turn: 'open', undoes: undefined } as const;

export function createScheduler(options: SchedulerOptions, edges: SchedulerEdges): Scheduler {
  let starting = false;

  const goOn = () => {
    if (starting) return; // a target that was called just now declares or cancels: taken up below
    starting = true;
    try {
      startAll(works);
    } finally {
      starting = false;
    }
    works.bell.ring();
  };

  const works = createWorks(options, edges, {
    goOn,
    fatal: (id, error, cause) => failSession(works, id, error, cause),
    coming: (name) => fromOutside(works, name),
  });
  const open = (tracked: boolean): readonly string[] => {
    // An array of one is a fifth of the size of one that is pushed to.
    let ids: string[] | undefined;
    for (const { action } of works.runs.values()) {
      if (isTracked(action) !== tracked) continue;
      if (ids === undefined) ids = [action.id];
      else ids.push(action.id);
    }
    return ids ?? NONE;
  };

  return {
    declare(action, cause) {
      if (works.life === 'lost') return;
      if (isTaken(works, action.id)) edges.append(duplicateId(action.id), cause);
      else take(works, action, cause, DECLARED);
      goOn();
    },
    loop(loop, cause) {
      if (works.life === 'lost') return;
      const actions = loop.actions.filter(({ id }) => {
        if (isTaken(works, id)) edges.append(duplicateId(id), cause);
        return !isTaken(works, id);
      });
      const taken = { ...loop, actions };
      const action = loopAction(freshLoopId(works), taken);
      if (works.life === 'open') openLoop(works, taken);
      take(works, action, cause, DECLARED);
      goOn();
    },
    whenEnded: (ids, then) => whenEnded(works, ids, then),
    resolve: (source) => resolution(works.names, source),
    turnEnded(how) {
      if (works.life === 'lost') return;
      for (const run of works.openLoops ?? []) if (run.turn === 'open') run.turn = how;
      apply(works, endTurn(works.graph, how), undefined);
      goOn();
    },
    tracked: () => open(true),
    untracked: () => open(false),
    atRest() {
      let asks = false;
      if (awaitsOutside(works)) return false;
      for (const { stage, action } of works.runs.values()) {
        if (stage.at === 'clearing' || (stage.at === 'running' && edges.rests?.(action.id) === true))
          asks = true;
        // Where those at rest have all places, whoever stands behind them cannot begin either.
        else if (stage.at !== 'waiting' && !(stage.at === 'queued' && works.places <= 0)) return false;
      }
      return asks;
    },
    rollback: (to, cause) => rollback(works, to, cause),
    cancel(reason, ids) {
      if (works.life === 'lost') return new Promise((resolve) => whenIdle(works, resolve));
      if (ids === undefined) {
        works.life = 'closed';
        works.shutReason = reason;
      }
      const those = ids === undefined ? works.runs.values() : ids.flatMap((id) => openOf(works, id));
      const running = stop(works, those, reason);
      goOn();
      return ended(works, running);
    },
    abandon() {
      lose(works);
      return new Promise((resolve) => whenIdle(works, resolve));
    },
    restore(state) {
      starting = true; // nothing starts before all is known again
      const fatal = restore(works, state);
      starting = false;
      if (fatal?.error !== undefined) failSession(works, fatal.action.id, revived(fatal.error), undefined);
      goOn();
    },
  };
}

/** Starts what is ready, in its order, as long as there are places. */
function startAll(works: Works): void {
  for (;;) {
    const run = shiftFifo(works.free) ?? (works.places > 0 ? shiftFifo(works.queue) : undefined);
    if (run === undefined) return;
    if (run.stage === QUEUED) start(works, run); // or it was cancelled meanwhile
  }
}
