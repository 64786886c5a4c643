import type { Cause } from '../events/event.ts';
import type { RuntimeError } from '../kernel/runtime-error.ts';
import { stop, whenIdle } from './stop.ts';
import { isTaken, take } from './take.ts';
import { undoAction, undoId, undone, undoPlan } from './undo.ts';
import { whenEnded } from './when-ended.ts';
import type { Works } from './works.ts';

/** Resolves when these have ended, or, once the log is lost, when nothing runs any more. */
export const ended = (works: Works, ids: readonly string[]): Promise<void> =>
  new Promise((resolve) => {
    if (works.life === 'lost') {
      whenIdle(works, resolve);
      return;
    }
    works.idle ??= new Set();
    works.idle.add(resolve);
    whenEnded(works, ids, () => {
      works.idle?.delete(resolve);
      resolve();
    });
  });

/** Undoes what was completed, back to `to`; one rollback after the other. */
export function rollback(
  works: Works,
  to: string | undefined,
  cause: Cause | undefined,
): Promise<{ readonly undone: readonly string[] }> {
  const done = (works.undoing ?? Promise.resolve()).then(() => undoAll(works, to, cause));
  works.undoing = done.catch(() => undefined); // the caller hears of it
  return done;
}

async function undoAll(works: Works, to: string | undefined, cause: Cause | undefined) {
  const ids: string[] = [];
  for (const id of undoPlan(works, works.completed, to)) {
    if (isShut(works)) break;
    await undoOne(works, id, cause);
    if (works.state.actions.get(id)?.status === 'compensated') ids.push(id);
  }
  return { undone: ids };
}

/** Nothing is undone any more: what was being undone may have been cancelled, or belongs to whoever goes on. */
const isShut = ({ life }: Works): boolean => life === 'closed' || life === 'lost';

/** Bounded by the number of actions: each round but the last finds one. */
async function undoOne(works: Works, id: string, cause: Cause | undefined): Promise<void> {
  const { state } = works;
  const known = state.actions.get(id);
  if (known === undefined) return;
  for (let n = 1; ; n++) {
    const by = undoId(id, n);
    const tried = state.actions.get(by);
    if (tried === undefined && !isTaken(works, by)) {
      take(works, undoAction(works, by, known), cause, { turn: 'well', undoes: id });
      works.goOn();
      await ended(works, [by]);
      return;
    }
    if (tried === undefined || undone(state, tried.action) !== id) continue;
    await ended(works, [by]);
    if (isShut(works)) return;
    // Nobody knows whether an interrupted one did its work: doing it twice may be worse than not at all.
    if (tried.status === 'completed' || tried.status === 'interrupted') return;
  }
}

/** An action with `on_error: fail` has failed: ends the rest, undoes what was done, then says so. */
export function failSession(works: Works, id: string, error: RuntimeError, cause: Cause | undefined): void {
  works.life = 'failing';
  works.shutReason = `Action "${id}" failed, and its on_error is "fail".`;
  const others = [...works.runs.values()].filter(({ undoes }) => undoes === undefined);
  const open = stop(works, others, works.shutReason);
  ended(works, open)
    .then(() => rollback(works, undefined, cause))
    .then(() => {
      if (works.life !== 'failing') return; // cancelled meanwhile: whoever did that has the word
      works.life = 'closed';
      works.options.onFatal(error, id);
    });
}
