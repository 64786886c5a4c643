import { type DeclaredAction, isReported } from '../../src/log/action.ts';

/**
 * What the runtime is told of a session's actions, and where each of them stands by the events seen so far. What may
 * come of that is in `graph-rules.ts`. It is written from the protocol and knows nothing of how a scheduler works.
 */
export interface GraphModel {
  readonly parallelActions: number;
  /** How long an aborted target may take to stop. */
  readonly graceMs: number;
  readonly actions: Map<string, Modelled>;
  /** Calls of targets that have not come back, those of tries that were given up among them. */
  readonly calls: Set<Try>;
  /** Ids, in the order in which they ended. */
  readonly ended: string[];
  /** Every kind of event that was seen. */
  readonly kinds: Set<string>;
  /** Faults that were seen, less those that had to come: each is 0 at rest. */
  readonly faults: { deadlock: number; duplicate_id: number };
  now: number;
  /** How many turns have ended. */
  turn: number;
  readonly brokenTurns: Set<number>;
  life: 'open' | 'failed' | 'cancelled';
  /** The action with `on_error: fail` that ended the session. */
  fatal?: string;
  /** The place on the log from which on nothing may start. */
  shutAt?: number;
  /** How many events were seen. */
  seen: number;
}

export interface Modelled {
  readonly action: DeclaredAction;
  readonly target: Target;
  /** All that must have succeeded first. */
  readonly needs: readonly string[];
  readonly turn: number;
  onLog: boolean;
  attempts: number;
  /** Whether its cancel was asked for. */
  cancelled: boolean;
  phase: Phase;
}

/** `pay` must not be done twice; `mail` waits until its turn has ended well. */
export type Target = 'tool' | 'pay' | 'mail';

/** Ready is what waits, or has rested, for nothing but a place among those that run. */
export type Phase =
  | { readonly at: 'waiting' }
  | { readonly at: 'running'; readonly try: Try }
  | { readonly at: 'resting'; readonly until: number }
  | { readonly at: 'completed' | 'failed' | 'skipped' | 'cancelled' };

export interface Try {
  readonly id: string;
  readonly attempt: number;
  /** Undefined until the start of what must not be done twice is committed. */
  calledAt?: number;
  outcome?: Outcome;
  /** Set once its signal must be aborted. */
  aborted?: { readonly at: number; readonly why: 'timeout' | 'cancelled' };
}

/** What a target gives back: its output, or an error with that code. Nothing helps against `not_permitted`. */
export type Outcome = 'well' | 'boom' | 'not_permitted';

export const createModel = (parallelActions: number, graceMs: number, now: number): GraphModel => ({
  parallelActions,
  graceMs,
  actions: new Map(),
  calls: new Set(),
  ended: [],
  kinds: new Set(),
  faults: { deadlock: 0, duplicate_id: 0 },
  now,
  turn: 0,
  brokenTurns: new Set(),
  life: 'open',
  seen: 0,
});

export const isOpen = ({ phase }: Modelled): boolean =>
  phase.at === 'waiting' || phase.at === 'running' || phase.at === 'resting';

const open = ({ actions }: GraphModel) => [...actions.values()].filter(isOpen);

export const openIds = (model: GraphModel): readonly string[] => open(model).map(({ action }) => action.id);

export const trackedIds = (model: GraphModel, tracked: boolean): readonly string[] =>
  open(model).flatMap(({ action }) => (isReported(action) === tracked ? [action.id] : []));

export function cameToNothing({ actions }: GraphModel, id: string): boolean {
  const one = actions.get(id);
  return one !== undefined && !isOpen(one) && one.phase.at !== 'completed';
}

/** Whether a sync action keeps the runtime from acting on more of this turn. */
export const holdsStream = (model: GraphModel): boolean =>
  model.life === 'open' &&
  open(model).some(({ action, turn }) => action.mode === 'sync' && turn === model.turn);

/** `reads`: what its variables name. */
export function heard(
  model: GraphModel,
  action: DeclaredAction,
  target: Target,
  reads: readonly string[],
): void {
  if (model.actions.has(action.id)) {
    model.faults.duplicate_id--;
    return;
  }
  model.actions.set(action.id, {
    action,
    target,
    needs: [...(action.depends_on ?? []), ...reads],
    turn: model.turn,
    onLog: false,
    attempts: 0,
    cancelled: model.life !== 'open',
    phase: { at: 'waiting' },
  });
}

export function settled(model: GraphModel, call: Try, outcome: Outcome): void {
  model.calls.delete(call);
  call.outcome = outcome;
}

export function turnEnded(model: GraphModel, how: 'well' | 'broken'): void {
  if (how === 'broken') model.brokenTurns.add(model.turn);
  model.turn++;
}

export function cancelled(model: GraphModel, ids: readonly string[]): void {
  for (const one of open(model)) {
    if (!ids.includes(one.action.id)) continue;
    one.cancelled = true;
    if (one.phase.at === 'running') abort(one.phase.try, 'cancelled', model.now);
  }
}

/** Everything that is open is cancelled, and whatever is declared later. */
export function shut(model: GraphModel, life: 'failed' | 'cancelled'): void {
  model.life = life;
  model.shutAt ??= model.seen;
  cancelled(model, openIds(model));
}

/** All that is on the log is committed. */
export function committed(model: GraphModel): void {
  for (const { phase } of model.actions.values())
    if (phase.at === 'running' && phase.try.calledAt === undefined) call(model, phase.try);
}

export function passed(model: GraphModel, now: number): void {
  model.now = now;
  for (const { action, phase } of model.actions.values()) {
    if (phase.at !== 'running' || phase.try.calledAt === undefined) continue;
    const deadline = phase.try.calledAt + (action.timeout ?? Number.POSITIVE_INFINITY) * 1000;
    if (deadline <= now) abort(phase.try, 'timeout', deadline);
  }
}

export function call(model: GraphModel, made: Try): void {
  made.calledAt = model.now;
  model.calls.add(made);
}

/** What has come back, or was not called yet, has nothing to abort. */
function abort(made: Try, why: 'timeout' | 'cancelled', at: number): void {
  if (made.calledAt !== undefined && made.outcome === undefined) made.aborted ??= { at, why };
}
