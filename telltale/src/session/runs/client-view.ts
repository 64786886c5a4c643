import { readRun } from '../../engine/read-run.ts';
import { openQuestions } from '../../events/fold-client.ts';
import { shownWait } from '../../events/run-event.ts';
import type { ApprovalState, RunState } from '../../events/run-state.ts';
import type { ErrorJson } from '../../kernel/runtime-error.ts';
import type { Store } from '../../store/store.ts';
import { childKey } from '../../workflows/steps/child-key.ts';
import type { ClientView } from './client-types.ts';
import type { RunBoard } from './run-board.ts';

export interface ViewDeps {
  readonly store: Store;
  readonly board: Pick<RunBoard, 'find'>;
}

/** What is committed of a run: as this process has it, where it works on it, else read from the log. */
export async function committedRun({ store, board }: ViewDeps, run: string): Promise<RunState> {
  const journal = board.find(run)?.live?.journal;
  if (journal === undefined) return readRun(store, run);
  const isWritten = await journal.flushed().then(
    () => true,
    () => false, // another process has it: its log says what is
  );
  return isWritten ? journal.state : readRun(store, run);
}

/** `seen` is told of each run that was looked at, those that it called included. */
export async function viewOf(deps: ViewDeps, run: string, seen: (run: string) => void): Promise<ClientView> {
  seen(run);
  const state = await committedRun(deps, run);
  switch (state.status) {
    case 'completed':
      return { kind: 'completed', output: state.output ?? null };
    case 'failed':
      return { kind: 'failed', error: state.error ?? NO_REASON };
    case 'cancelled':
      return { kind: 'cancelled', reason: (state.error ?? NO_REASON).message };
    case 'running':
    case 'waiting': {
      const [task] = openQuestions(state);
      return task === undefined ? below(deps, state, seen) : { kind: 'task', run, task: { ...task } };
    }
  }
}

/** No task of its own is open: those of runs that it called may be. */
async function below(deps: ViewDeps, state: RunState, seen: (run: string) => void): Promise<ClientView> {
  const reviews = state.reviews.filter(({ answer }) => answer === undefined).map(asked);
  for (const { step, status } of state.steps.values()) {
    if (status !== 'running') continue;
    const called = childKey(state, step, 'run');
    const info = await deps.store.info(called);
    if (info?.kind !== 'run') continue;
    const view = await viewOf(deps, called, seen);
    if (view.kind === 'task') return view;
    if (view.kind === 'waiting') reviews.push(...view.reviews);
    else return busy(state); // where that one has ended, this one is about to go on
  }
  const { status, waiting = { for: 'nothing' } } = state;
  return status === 'waiting' ? { kind: 'waiting', ...shownWait(waiting), reviews } : busy(state);
}

const busy = ({ steps }: RunState): ClientView => ({
  kind: 'busy',
  done: [...steps.values()].filter(({ status }) => status === 'completed').length,
});

const asked = ({ review, prompt, options }: ApprovalState) => ({ review, prompt, options });

const NO_REASON: ErrorJson = { code: 'failed', message: 'No reason is on the log.', retryable: false };
