import type { Cause } from '../events/event.ts';
import { NOBODY } from '../kernel/grow.ts';
import type { RuntimeError } from '../kernel/runtime-error.ts';
import type { RolledBack } from './scheduler.ts';
import { stop, whenIdle } from './stop.ts';
import { isTaken, take } from './take.ts';
import { declaredAfter, undoAction, undoId, undone, undoneBy, undoPlan } from './undo.ts';
import { waitForUndo } from './wait-for-undo.ts';
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

/** What asks for a rollback, which may go on after a restart: it tries nothing again that it tried before. */
interface Asking {
  readonly by: string;
  /** Whether what was declared behind it stays as it is. */
  readonly sparesLater: boolean;
  /** Aborted where no further one is to be undone. */
  readonly signal?: AbortSignal;
}

/** Undoes what was completed, back to `to`; one rollback after the other. */
export function rollback(
  works: Works,
  to: string | undefined,
  cause: Cause | undefined,
  asking?: Asking,
): Promise<RolledBack> {
  const done = (works.undoing ?? Promise.resolve()).then(() => undoAll(works, to, cause, asking));
  works.undoing = done.catch(() => undefined); // the caller hears of it
  return done;
}

async function undoAll(
  works: Works,
  to: string | undefined,
  cause: Cause | undefined,
  asking: Asking | undefined,
): Promise<RolledBack> {
  const { state } = works;
  const later = asking === undefined ? NOBODY : declaredAfter(state, new Set([asking.by]));
  const ids = undoneBy(state, later); // before a restart
  const left: string[] = [];
  const spared = asking?.sparesLater === true ? later : NOBODY;
  for (const id of undoPlan(works, works.completed, to, spared)) {
    if (isShut(works) || asking?.signal?.aborted === true) break;
    await undoOne(works, id, cause, later, asking?.by);
    (state.actions.get(id)?.status === 'compensated' ? ids : left).push(id);
  }
  return { undone: ids, left };
}

/** Nothing is undone any more: what was being undone may have been cancelled, or belongs to whoever goes on. */
const isShut = ({ life }: Works): boolean => life === 'closed' || life === 'lost';

/** Bounded by the number of actions: each round but the last finds one. `own`: the tries of this very rollback are among these. */
async function undoOne(
  works: Works,
  id: string,
  cause: Cause | undefined,
  own: ReadonlySet<string>,
  asker: string | undefined,
): Promise<void> {
  const { state } = works;
  const known = state.actions.get(id);
  if (known === undefined) return;
  for (let n = 1; ; n++) {
    const by = undoId(id, n);
    const tried = state.actions.get(by);
    if (tried === undefined && !isTaken(works, by)) {
      take(works, undoAction(works, by, known), cause, { turn: 'well', undoes: id });
      waitForUndo(works, asker, by);
      works.goOn();
      await ended(works, [by]);
      return;
    }
    if (tried === undefined || undone(state, tried.action) !== id) continue;
    waitForUndo(works, asker, by);
    await ended(works, [by]);
    if (isShut(works)) return;
    // Nobody knows whether an interrupted one did its work: doing it twice may be worse than not at all.
    if (tried.status === 'completed' || tried.status === 'interrupted' || own.has(by)) return;
  }
}

/** An action with `on_error: fail` has failed: ends the rest, undoes what was done, then says so. */
export function failSession(
  works: Works,
  id: string,
  error: RuntimeError,
  cause: Cause | undefined,
  asking?: Asking,
): void {
  works.life = 'failing';
  works.shutReason = `Action "${id}" failed, and its on_error is "fail".`;
  const others = [...works.runs.values()].filter(({ undoes }) => undoes === undefined);
  const open = stop(works, others, works.shutReason);
  ended(works, open)
    .then(() => rollback(works, undefined, cause, asking))
    .then(({ left }) => {
      if (works.life !== 'failing') return; // cancelled meanwhile: whoever did that has the word
      works.life = 'closed';
      works.options.onFatal(error, id, left);
    });
}
