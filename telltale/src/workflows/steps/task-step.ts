import { asText } from '../../expressions/values.ts';
import { mcpIdentity } from '../../lib/ids.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { RunState } from '../../log/run-state.ts';
import { applyUpdates, buildTask, taskPrompt, taskTime } from '../guided/build-task.ts';
import {
  confirm,
  decideReport,
  endedStuck,
  type JudgeDeps,
  type JudgeReportSettled,
  judgeReport,
  lastReported,
  notVerified,
  type Reported,
  settle,
  taskLog,
  tooManyReports,
  workFailed,
} from '../guided/judge-report.ts';
import type { TaskReport, TaskWord, WorkerCall } from '../guided/task.ts';
import { resolveInstructions, withInstructions } from '../guided/verify/verify-work.ts';
import type { LeafCall, LeafPlace } from '../step-executor.ts';
import type { LeafContext, PrepareLeaf, StepOf } from './step-deps.ts';
import { resolveInStep } from './step-deps.ts';

/** Reports on one attempt, of turns and others. */
const MAX_REPORTS = 10_000;

/**
 * An agent works on it until it says that it is done and that is accepted. Results in
 * `{notes, context_updates, artifacts}`.
 */
export const prepareTask: PrepareLeaf<'task'> = async (step, place, context) => ({
  // What was resolved when it began counts, also after a restart.
  input: context.journal.state.steps.get(place.address)?.input ?? (await inputOf(step, place, context)),
  repeatable: true, // who works on it goes on where it was, and what was judged is on the log
  timesItself: true,
  run: (call) => work(step, call, context),
});

async function inputOf(step: StepOf<'task'>, place: LeafPlace, context: LeafContext): Promise<JsonObject> {
  const prompt = await taskPrompt(step, place, context);
  const asked =
    step.confirm === undefined
      ? undefined
      : step.confirm === true
        ? `May the step "${step.name}" begin?\n\n${prompt}`
        : asText(await resolveInStep(step.confirm, place, context));
  const instructions = await resolveInstructions(step.verify, place, context);
  return {
    prompt,
    ...(asked === undefined ? {} : { confirm: asked }),
    ...(instructions === undefined ? {} : { instructions }),
  };
}

async function work(step: StepOf<'task'>, call: LeafCall, context: LeafContext): Promise<Json> {
  const { workers, journal } = context;
  const { timed, park } = taskTime(call, context);
  const verify = step.verify && withInstructions(step.verify, call.input.instructions);
  const deps: JudgeDeps = { verify, call, context, timed };
  const task = buildTask(step, call, context.workflow);
  const worker = (signal: AbortSignal): WorkerCall => ({
    agent: step.agent,
    step: call.address,
    signal,
    cause: call.cause,
    park,
  });
  try {
    const ended = await endOnLog(step, deps);
    if (ended !== undefined) return ended;
    if (typeof call.input.confirm === 'string') await confirm(call.input.confirm, call, context);
    let report: TaskReport = await timed((signal) => workers.give(task, worker(signal)));
    for (;;) {
      if (report.kind === 'failed') throw workFailed(report.error);
      const { nth } = report;
      if (nth > MAX_REPORTS) throw tooManyReports(step.name, MAX_REPORTS);
      const settled = await judgeReport(report, deps);
      const output = outcome(step, report, settled, deps);
      if (output !== undefined) return output;
      // What the worker is told, a restart has to find on the log.
      await journal.flushed();
      const word = wordOf(settled);
      report = await timed((signal) => workers.answer(task, nth, word, worker(signal)));
    }
  } finally {
    workers.done?.(task); // also where nobody was set to work: another may wait for its worker
  }
}

/**
 * How the log says that the attempt ends, where it does: nobody has to be set to work for that. What only a person can
 * settle is waited for first, too.
 */
async function endOnLog(step: StepOf<'task'>, deps: JudgeDeps): Promise<Json | undefined> {
  const { call, context, verify } = deps;
  const log = taskLog(context.journal.state, call.address);
  const last = lastReported(log.guided);
  if (last === undefined) return undefined;
  const isUnjudged = decideReport(last, verify, log).kind === 'verify';
  return isUnjudged ? undefined : outcome(step, last, await settle(last, deps), deps);
}

/** The step's output, once it is done; undefined where its worker goes on. Throws where it is over without one. */
function outcome(
  step: StepOf<'task'>,
  reported: Reported,
  settled: JudgeReportSettled,
  { call, context }: JudgeDeps,
): Json | undefined {
  if (settled.kind === 'fail') {
    const { by, note } = settled;
    throw reported.kind === 'stuck'
      ? endedStuck(step.name, reported.why, by, note)
      : notVerified(step.name, by, note);
  }
  if (settled.kind !== 'pass' || reported.kind !== 'claimed') return undefined;
  const { state } = context.journal;
  const claim = taskLog(state, call.address).guided.claims.find(({ nth }) => nth === reported.nth);
  const { notes = '', context_updates: updates = {}, artifacts = [] } = claim ?? {};
  call.signal.throwIfAborted();
  applyUpdates(updates, workerOf(state.origin) ?? step.agent ?? state.manifest.agent, call, context);
  return { notes, context_updates: updates, artifacts: [...artifacts] };
}

/** A client is not taken at its word: it could call itself anything. */
const workerOf = ({ client, identity }: RunState['origin']): string | undefined =>
  client === undefined || identity === undefined ? client : mcpIdentity(identity, client);

const wordOf = (settled: JudgeReportSettled): TaskWord =>
  settled.kind === 'again' ? { kind: 'again', text: settled.text, by: settled.by } : { kind: 'go_on' };
