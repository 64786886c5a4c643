import { readRun } from '../../engine/read-run.ts';
import type { Cause } from '../../events/event.ts';
import type { StartedRun } from '../../events/reaction-state.ts';
import { toRuntimeError } from '../../kernel/runtime-error.ts';
import { isInCode } from '../define/agent-code.ts';
import { leaveToOthers } from './hand-over.ts';
import { createRun } from './open-run.ts';
import type { Ground } from './realm.ts';
import type { RunBoard } from './run-board.ts';
import type { RunsDeps } from './run-edges.ts';
import { isOver } from './run-end.ts';
import type { EndMessage } from './run-messages.ts';
import { endMessage } from './tell-end.ts';
import { workflowsOf } from './workflow-catalog.ts';

/** A run that a trigger of a session started. */
export interface TriggeredRun {
  readonly session: string;
  /** Who takes turns for it. */
  readonly group: string;
  readonly ground: Ground;
  readonly started: StartedRun;
  readonly balance?: number | undefined;
  readonly agents: readonly string[];
}

/** Makes the run of a `trigger.fired` that is committed, or goes on with it. Gives its end where it has ended. */
export async function beginTriggered(
  deps: RunsDeps & { readonly board: RunBoard },
  { session, group, ground, started, balance, agents }: TriggeredRun,
): Promise<EndMessage | undefined> {
  const { store, engine, board } = deps;
  const { run, trigger, seen, chain, seq, depth } = started;
  const known = await store.info(run);
  if (known === undefined || known.head === 0) {
    const workflow = workflowsOf(ground.agent).get(started.workflow);
    if (workflow === undefined) return gone(started, session);
    const cause: Cause = { stream: session, seq, depth };
    const held = await createRun(deps, {
      id: run,
      workflow,
      ground,
      input: {},
      balance,
      cause,
      origin: { session: { id: session, seq }, trigger: { id: trigger, seen }, chain, agents },
    });
    board.entry(run).fresh = held;
  } else {
    const state = await readRun(store, run);
    // A session that was forked has the runs of the other one on its log, up to there.
    if (state.origin.session?.id !== session) return elsewhere(started, session);
    if (isOver(state.status)) return endMessage(state);
  }
  const entry = board.entry(run);
  entry.ground = ground;
  const how = isInCode(ground.agent) ? 'here' : undefined;
  if (engine.place('run', run, how, group) === 'elsewhere') await leaveToOthers(board, entry);
  return undefined;
}

const gone = ({ run, workflow, seq, depth }: StartedRun, session: string): EndMessage => ({
  run,
  workflow,
  charged: 0,
  cause: { stream: session, seq, depth },
  end: {
    status: 'failed',
    error: toRuntimeError(new Error(`The agent no longer has the workflow "${workflow}".`)).toJSON(),
  },
});

const elsewhere = ({ run, workflow, seq, depth }: StartedRun, session: string): EndMessage => ({
  run,
  workflow,
  charged: 0,
  cause: { stream: session, seq, depth },
  end: { status: 'cancelled', reason: 'It belongs to the session that this one was forked from.' },
});
