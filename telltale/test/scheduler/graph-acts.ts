import { expect } from 'vitest';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { DeclaredAction } from '../../src/log/action.ts';
import {
  cameToNothing,
  cancelled,
  committed,
  type GraphModel,
  heard,
  holdsStream,
  type Outcome,
  openIds,
  settled,
  shut,
  type Target,
  type Try,
  turnEnded,
} from './graph-model.ts';
import type { Stage } from './stage.ts';

/** The scheduler under test, and the cancels that were asked for. */
export interface Real {
  readonly stage: Stage;
  readonly cancels: { readonly ids: readonly string[]; stopped: boolean }[];
}

/** What is done to the model and the scheduler without giving way to any promise. */
export interface Act {
  readonly name: string;
  may(model: Readonly<GraphModel>): boolean;
  act(model: GraphModel, real: Real): void;
}

/** `expect` is as dear as a whole command. */
export function blame(stage: Stage, problems: readonly string[]): void {
  if (problems.length > 0) expect(problems, stage.story().join('\n')).toEqual([]);
}

export interface Declaring extends Pick<DeclaredAction, 'mode' | 'retry' | 'on_error' | 'timeout'> {
  readonly target: Target;
  /** Below zero: counted back over what has not come to nothing. Else a place, counted from its own. */
  readonly needs: readonly number[];
  /** Counted back over all. */
  readonly reads: readonly number[];
}

export const declare = ({ target, needs, reads, ...envelope }: Declaring): Act => ({
  name: `declare ${target} ${JSON.stringify({ ...envelope, needs, reads })}`,
  may: (model) => !holdsStream(model),
  act(model, { stage }) {
    const place = model.actions.size;
    const all = [...model.actions.keys()];
    const good = all.filter((id) => !cameToNothing(model, id));
    const known = reads.flatMap((offset) => all.at(offset) ?? []);
    const action: DeclaredAction = {
      ...envelope,
      id: `n${place}`,
      kind: 'tool',
      name: target,
      parameters: Object.fromEntries(
        known.map((id, i) => [`p${i}`, place % 2 === 0 ? `$${id}` : `see {{${id}}}, $${id}`]),
      ),
      depends_on: needs.flatMap((offset) => (offset < 0 ? good.at(offset) : `n${place + offset}`) ?? []),
    };
    heard(model, action, target, known);
    stage.declare(action.id, action);
  },
});

export const declareAgain = (which: number): Act => ({
  name: `declare ${which} again`,
  may: (model) => model.actions.size > 0 && !holdsStream(model),
  act(model, { stage }) {
    const action = { id: `n${which % model.actions.size}`, kind: 'tool', mode: 'async' } as const;
    if (mayBeUsedAgain(model, action.id)) return; // these actions have ids of their own
    heard(model, { ...action, name: 'tool', parameters: {} }, 'tool', []);
    stage.declare(action.id, { name: 'tool' });
  },
});

/** Ids of turns that the turn in hand goes on with are its own. */
function mayBeUsedAgain(model: GraphModel, id: string): boolean {
  let first = model.turn;
  while (model.brokenTurns.has(first - 1)) first--;
  const holder = model.actions.get(id);
  return holder !== undefined && !openIds(model).includes(id) && holder.turn < first;
}

export const settle = (which: number, outcome: Outcome): Act => ({
  name: `settle ${which} ${outcome}`,
  may: (model) => model.calls.size > 0,
  act(model, { stage }) {
    const call = [...model.calls][which % model.calls.size] as Try;
    settled(model, call, outcome);
    const made = stage.calls.find(({ id, attempt }) => id === call.id && attempt === call.attempt);
    if (made === undefined) blame(stage, [`${call.id} is not being called`]);
    else if (outcome === 'well') made.resolve(which);
    else made.reject(new RuntimeError(outcome, 'It broke.'));
  },
});

const ENDED_WELL = {
  usage: { input: 0, output: 0 },
  cost_usd: 0,
  ms: 0,
  first_token_ms: 0,
  finish: 'stop',
} as const;
const BROKE_OFF = { code: 'broken', message: 'broken', retryable: true } as const;

/** A turn ends well once all it said was acted on; it may break off at any time. */
export const endTurn = (how: 'well' | 'broken'): Act => ({
  name: `end turn ${how}`,
  may: (model) => how === 'broken' || !holdsStream(model),
  act(model, { stage }) {
    if (how === 'well') stage.append({ type: 'turn.completed', ...ENDED_WELL });
    else stage.append({ type: 'turn.failed', error: BROKE_OFF });
    turnEnded(model, how);
    stage.scheduler.turnEnded(how);
    stage.append({ type: 'turn.started', prompt: { tokens: 0, reused_prefix: 0 } });
  },
});

/** One that has ended, or is still to come, is not touched by it. */
export const cancelOne = (back: number): Act => ({
  name: `cancel ${back} back`,
  may: () => true,
  act(model, real) {
    const id = `n${model.actions.size - back}`;
    const stopping = openIds(model).filter((each) => each === id);
    cancelled(model, stopping);
    watch(real, stopping, real.stage.scheduler.cancel('this one', [id]));
  },
});

export const cancelSession: Act = {
  name: 'cancel session',
  may: () => true,
  act(model, real) {
    const stopping = openIds(model);
    shut(model, 'cancelled');
    watch(real, stopping, real.stage.scheduler.cancel('all'));
  },
};

function watch({ cancels }: Real, ids: readonly string[], stopping: Promise<void>): void {
  const asked = { ids, stopped: false };
  cancels.push(asked);
  void stopping.then(() => {
    asked.stopped = true;
  });
}

export const commit: Act = {
  name: 'commit',
  may: () => true,
  act(model, { stage }) {
    committed(model);
    void stage.commit();
  },
};
