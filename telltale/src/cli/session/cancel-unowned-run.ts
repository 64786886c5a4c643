import { readRun } from '../../engine/read-run.ts';
import { encodeRunEvent } from '../../events/run-codec.ts';
import type { RunEventBody } from '../../events/run-event.ts';
import type { RunState } from '../../events/run-state.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { withoutRow } from '../../session/reviews/review-table.ts';
import { type EndMessage, RUN_CHILD, RUN_ENDED } from '../../session/runs/run-messages.ts';
import type { Store, StreamWriter } from '../../store/store.ts';
import { hasEnded } from '../view/status.ts';
import type { CancelUnowned } from './cancel-unowned.ts';
import { runsOf } from './runs-of.ts';

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
    const state = await readRun(store, run);
    const reviews = state.reviews.filter(({ choice }) => choice === undefined).map(({ review }) => review);
    const bodies: RunEventBody[] = [
      ...reviews.map(
        (review): RunEventBody => ({
          ...{ type: 'review.resolved', review, answer: 'withdrawn' },
          ...{ choice: 'withdrawn', by },
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
    const writes = reviews.length === 0 ? {} : { writes: reviews.map(withoutRow) };
    await new Promise<void>((resolve, reject) =>
      writer.append({ expectedSeq: state.seq, events, status: 'cancelled', ...writes }, (error) =>
        error === undefined ? resolve() : reject(error),
      ),
    );
    await tell(store, { ...state, seq: state.seq + events.length }, reason);
    return true;
  } finally {
    await writer.release();
  }
}

const openSteps = ({ steps }: RunState): readonly string[] =>
  [...steps.values()].flatMap(({ step, status }) =>
    status === 'running' || status === 'retrying' ? [step] : [],
  );

/** The run that called it, or the session that set it off. */
async function tell(store: Store, state: RunState, reason: string): Promise<void> {
  const { id, workflow, origin, seq, started } = state;
  if (origin.parent !== undefined) {
    await store.send(origin.parent.run, { kind: RUN_CHILD, from: id, body: { run: id } });
    return;
  }
  if (origin.session === undefined || origin.trigger === undefined) return;
  const session = await store.info(origin.session.id);
  if (session === undefined || session.status === 'completed' || session.status === 'cancelled') return;
  const message: EndMessage = {
    ...{ run: id, workflow, end: { status: 'cancelled', reason }, charged: 0 },
    cause: { stream: id, seq, depth: started.depth + 1 },
  };
  const body = JSON.parse(JSON.stringify(message)) as JsonObject;
  await store.send(session.stream, { kind: RUN_ENDED, from: id, body });
}
