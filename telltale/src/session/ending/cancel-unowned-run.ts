import type { Engine } from '../../engine/engine.ts';
import { readRun } from '../../engine/read-run.ts';
import { encodeRunEvent } from '../../events/run-codec.ts';
import type { RunEventBody } from '../../events/run-event.ts';
import type { RunState } from '../../events/run-state.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Store, StreamWriter } from '../../store/store.ts';
import { leaveTurns } from '../outside/leave-turns.ts';
import { readSession } from '../read-session.ts';
import { closeRow } from '../reviews/review-table.ts';
import { tellEnd } from '../runs/tell-end.ts';
import { type CancelUnowned, cancelUnowned } from './cancel-unowned.ts';
import { hasEnded } from './has-ended.ts';
import { runsOf, sessionsOf } from './runs-of.ts';

/**
 * Ends a run that nobody works on, as its owner would, but for what undoes its steps: that would need its agent. What it
 * called ends before it, and whoever waits for it is told. False where somebody has taken it meanwhile.
 */
export async function cancelUnownedRun(store: Store, run: string, given: CancelUnowned): Promise<boolean> {
  const { reason, by, clock } = given;
  let writer: StreamWriter;
  try {
    writer = await store.acquire(run);
  } catch (thrown) {
    if (thrown instanceof RuntimeError && thrown.code === 'stream_owned') return false;
    throw thrown;
  }
  try {
    for (const called of await runsOf(store, run))
      if (called.head > 0 && called.owner === undefined && !hasEnded(called.status))
        await cancelUnownedRun(store, called.stream, { ...given, by: run });
    const reader = { store, state: (session: string) => readSession(store, session) };
    for (const worker of await sessionsOf(store, run))
      if (worker.head > 0 && worker.owner === undefined && !hasEnded(worker.status))
        await cancelUnowned(reader, worker.stream, { ...given, by: run });
    const state = await readRun(store, run);
    const reviews = state.reviews.filter(({ choice }) => choice === undefined).map(({ review }) => review);
    const bodies: RunEventBody[] = [
      ...reviews.map(
        (review): RunEventBody => ({
          ...{ type: 'review.resolved', review, answer: 'withdrawn' },
          ...{ choice: 'withdrawn', by, note: `The run was cancelled: ${reason}` },
        }),
      ),
      ...openSteps(state).map(
        (step): RunEventBody => ({
          type: 'step.cancelled',
          step,
          reason: `The run was cancelled: ${reason}`,
        }),
      ),
      { type: 'workflow.cancelled', reason, by },
    ];
    // It comes from outside the log: a person asked for it.
    const head = { at: clock.now(), run, cause: { stream: run, seq: 0, depth: 0 } };
    const events = bodies.map((body, index) => encodeRunEvent({ ...head, seq: state.seq + 1 + index }, body));
    const writes = reviews.length === 0 ? {} : { writes: reviews.flatMap((review) => closeRow(review, run)) };
    await new Promise<void>((resolve, reject) =>
      writer.append({ expectedSeq: state.seq, events, status: 'cancelled', ...writes }, (error) =>
        error === undefined ? resolve() : reject(error),
      ),
    );
    // No process works on whoever is told from here: the message is there when one does.
    const signal: Engine['signal'] = async (_kind, stream, message) =>
      void (await store.send(stream, message));
    await tellEnd({ store, engine: { signal } }, await readRun(store, run));
    await leaveTurns(store, clock, run);
    return true;
  } finally {
    await writer.release();
  }
}

const openSteps = ({ steps }: RunState): readonly string[] =>
  [...steps.values()].flatMap(({ step, status }) =>
    status === 'running' || status === 'retrying' ? [step] : [],
  );
