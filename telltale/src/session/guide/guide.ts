import type { SessionState } from '../../events/state.ts';
import type { GivenTask } from '../../events/task-event.ts';
import type { TaskState } from '../../events/task-state.ts';
import { usageOf } from '../../events/usage-of.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import { type ErrorJson, RuntimeError } from '../../kernel/runtime-error.ts';
import type { Task, TaskReport } from '../../workflows/guided/task.ts';
import type { SessionLog } from '../session-log.ts';
import type { Stop } from '../stop.ts';
import type { Guide, LedEnd } from './guide-port.ts';
import type { Lead, LeadEnd, Standing, Used } from './lead.ts';
import { whyStuck } from './why-stuck.ts';
import { workOf } from './work-of.ts';

export interface GuideDeps {
  readonly lead: Lead;
  readonly log: SessionLog;
  readonly stop: Stop;
  readonly resumed: boolean;
  /** What the session results in, where it completes with its run. */
  readonly resultOf: (output: Json) => Json;
}

export function createGuide({ lead, log, stop, resumed, resultOf }: GuideDeps): Guide {
  const { state } = log;
  /** A task that the run may have taken back since: nothing is done for it before the run says so. */
  let unsure = resumed ? state.task?.given.task : undefined;
  const standing = (): Standing | undefined => standingOf(state, lead, unsure);

  const settle = async (): Promise<LedEnd | undefined> => {
    for (let at = standing(); at !== undefined; at = standing()) {
      await log.flushed(); // what the run hears of is on the log
      const order = await lead.wait(at, stop);
      if (order === undefined) return { kind: 'stopped' };
      unsure = undefined;
      if (order.kind === 'go_on') continue;
      if (order.kind === 'park') {
        log.append({ type: 'session.waiting', for: order.for });
        log.seal(); // from here on the log belongs to whoever resumes it
        stop.now({ kind: 'wait' });
        return { kind: 'stopped' };
      }
      if (order.kind === 'over') return endOf(order.end, stop, resultOf);
      if (order.kind === 'task') {
        overWith(log);
        log.append({ type: 'task.given', ...givenOf(order.task) }, order.cause);
        return undefined;
      }
      const { task, nth, word } = order;
      const said = word.kind === 'again' ? { text: word.text, by: word.by } : { by: 'verifier' };
      log.append({ type: 'task.answered', task, nth, ...said });
    }
    return undefined;
  };

  return {
    before: () => (standing() === undefined ? undefined : settle()),
    after() {
      const { task } = state;
      // After a restart it may be called once more, and the task may be one that the turn knew nothing of.
      if (task === undefined || task.open !== undefined) return;
      if (task.reportedIn === state.turn || task.since === state.turn) return;
      const { task: key } = task.given;
      const why = whyStuck(state, task);
      if (why !== undefined) {
        const isSecond = task.warned;
        log.append({ type: 'task.stuck', task: key, why, ...(isSecond ? { nth: task.reports + 1 } : {}) });
        if (!isSecond) log.append({ type: 'message.received', from: 'runtime', text: `${why} ${OTHER_WAY}` });
      } else if (task.given.judged === true)
        log.append({ type: 'task.turn', task: key, nth: task.reports + 1 });
    },
  };
}

const OTHER_WAY =
  'Do something else: look at what you have, try another way, or complete the step and say in its notes what could not be done. If it goes on like this, a person is asked.';

/** Where the session waits for its run; undefined while it has something to do. */
function standingOf(state: SessionState, lead: Lead, unsure: string | undefined): Standing | undefined {
  const { task } = state;
  if (task === undefined) return { kind: 'idle' };
  const { task: key, max_turns: most } = task.given;
  if (lead.isWithdrawn(key)) return { kind: 'idle' };
  if (task.open !== undefined)
    return { kind: 'report', task: key, report: reportOf(state, task, task.open), used: usedBy(state) };
  if (most === undefined || task.turns < most)
    return unsure === key ? { kind: 'resumed', task: key } : undefined;
  return {
    kind: 'report',
    task: key,
    report: { kind: 'failed', by: state.id, error: tooLong(most) },
    used: usedBy(state),
  };
}

const usedBy = ({ model, totals }: SessionState): Used => ({
  model,
  ...usageOf(totals),
  cost_usd: totals.cost_usd,
});

function reportOf(state: SessionState, task: TaskState, open: NonNullable<TaskState['open']>): TaskReport {
  const from = {
    by: state.id,
    turns: task.turns,
    ...(task.reported === undefined ? {} : { cause: task.reported }),
  };
  switch (open.kind) {
    case 'claimed':
      return { ...open, ...from, work: workOf(state, task) };
    case 'turn':
      return { ...open, ...from, work: workOf(state, task) };
    case 'stuck':
      return { ...open, ...from };
  }
}

function givenOf({
  key,
  prompt,
  requires,
  accepts,
  evidence,
  maxTurns,
  judgesTurns,
  checked,
}: Task): GivenTask {
  return {
    task: key,
    prompt,
    ...(isEmpty(requires) ? {} : { requires }),
    ...(isEmpty(accepts) ? {} : { accepts }),
    ...(evidence.length === 0 ? {} : { evidence }),
    ...(maxTurns === undefined ? {} : { max_turns: maxTurns }),
    ...(judgesTurns ? { judged: true as const } : {}),
    ...(checked === true ? { checked } : {}),
  };
}

const isEmpty = (values: Readonly<Record<string, JsonObject>>) => Object.keys(values).length === 0;

function overWith(log: SessionLog): void {
  const { task } = log.state;
  if (task !== undefined) log.append({ type: 'task.over', task: task.given.task });
}

function endOf(end: LeadEnd, stop: Stop, resultOf: GuideDeps['resultOf']): LedEnd {
  switch (end.kind) {
    case 'completed':
      return { kind: 'completed', result: resultOf(end.output), cause: end.cause };
    case 'failed':
      return { kind: 'failed', error: asError(end.error), cause: end.cause };
    case 'cancelled':
      stop.now({ kind: 'cancel', reason: end.reason, by: 'workflow' });
      return { kind: 'stopped' };
  }
}

const asError = ({ code, message, hint, retryable }: ErrorJson) =>
  new RuntimeError(code, message, { hint, retryable });

const tooLong = (turns: number) =>
  new RuntimeError('max_turns', `The step was not completed within ${turns} turns.`, {
    hint: 'Raise "max_turns", make the step smaller, or set "on_error".',
  }).toJSON();
