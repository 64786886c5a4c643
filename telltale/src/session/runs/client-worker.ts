import type { RunJournal } from '../../engine/run-journal.ts';
import type { ClientQuestion } from '../../events/run-event.ts';
import type { ClientTask } from '../../events/run-state.ts';
import { stopped } from '../../targets/access/stopped.ts';
import type { Task, TaskReport, TaskWorkers, WorkerCall } from '../../workflows/guided/task.ts';

/** What a run's log says that it waits for while its client works. */
export const WAITS_FOR_CLIENT = 'the client';

/**
 * Tasks of a run that an MCP client works on. Each is put on the run's log, which is then let go of: what the client
 * sends comes onto the log as `client.claimed`, whichever process it is sent to, and the step goes on with it. Those that
 * wait are in `claims` and look again when they are called.
 */
export function createClientWorkers(journal: RunJournal, claims: Set<() => void>): TaskWorkers {
  const { state } = journal;
  const asked = (step: string, attempt: number): ClientTask | undefined =>
    state.client?.findLast((task) => task.step === step && task.attempt === attempt);
  const attemptOf = (step: string): number => state.steps.get(step)?.attempts ?? 1;
  const ask = (question: ClientQuestion, { cause }: WorkerCall) =>
    journal.append({ type: 'client.asked', ...question }, cause);
  const questionOf = ({ prompt, requires, accepts }: Task, { step }: WorkerCall, nth: number) => ({
    step,
    attempt: attemptOf(step),
    nth,
    prompt,
    requires,
    accepts,
  });

  return {
    give(task, call) {
      if (asked(call.step, attemptOf(call.step)) === undefined) ask(questionOf(task, call, 1), call);
      return report(journal, claims, call, () => asked(call.step, attemptOf(call.step)));
    },
    answer(task, nth, word, call) {
      const last = asked(call.step, attemptOf(call.step));
      if (last === undefined || last.nth <= nth) {
        const again = word.kind === 'again' ? { again: { text: word.text, by: word.by } } : {};
        ask({ ...questionOf(task, call, nth + 1), ...again }, call);
      }
      return report(journal, claims, call, () => asked(call.step, attemptOf(call.step)));
    },
  };
}

/** Resolves with the claim to the last question of a step; the step is parked until it comes. */
function report(
  journal: RunJournal,
  claims: Set<() => void>,
  { signal, park, step }: WorkerCall,
  last: () => ClientTask | undefined,
): Promise<TaskReport> {
  const what = `step "${step}"`;
  if (signal.aborted) return Promise.reject(stopped(what, signal));
  const there = claimed(last());
  if (there !== undefined) return Promise.resolve(there);
  return new Promise((resolve, reject) => {
    const goOn = park(WAITS_FOR_CLIENT);
    const end = () => {
      forget();
      claims.delete(look);
      signal.removeEventListener('abort', onAbort);
      goOn();
    };
    const onAbort = () => {
      end();
      reject(stopped(what, signal));
    };
    const look = () => {
      const found = claimed(last());
      if (found === undefined) return;
      end();
      resolve(found);
    };
    const forget = journal.subscribe(({ type }) => {
      if (type === 'client.claimed') look();
    });
    claims.add(look);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

const claimed = (task: ClientTask | undefined): TaskReport | undefined => {
  if (task?.claim === undefined) return undefined;
  const { by, notes, context_updates, artifacts } = task.claim;
  return {
    kind: 'claimed',
    nth: task.nth,
    by,
    notes,
    context_updates,
    artifacts,
    // What a client does is not on any log of ours.
    evidence: [],
    turns: 0,
    work: [],
  };
};
