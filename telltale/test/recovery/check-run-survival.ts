import assert from 'node:assert/strict';
import { foldRun } from '../../src/log/reduce-run.ts';
import type { RunEvent, RunEventOf, RunEventType } from '../../src/log/run-event.ts';
import type { RunState } from '../../src/log/run-state.ts';
import { unsoundCauses } from '../log/unsound-causes.ts';
import type { LabTool } from './lab-tools.ts';
import type { JournalLine } from './scene.ts';

/** The logs of a run and of those that it called, by name. */
export type RunLogs = ReadonlyMap<string, readonly RunEvent[]>;

/** What a dead process left behind. */
export interface RunScene {
  readonly logs: RunLogs;
  /** How many lines the journal had. */
  readonly journalLength: number;
}

/** All that is known of a run that was killed again and again and has come to its end. */
export interface SurvivingRun {
  readonly run: string;
  readonly tools: readonly LabTool[];
  /** What each process printed of the run. */
  readonly printed: readonly (readonly RunEvent[])[];
  readonly scenes: readonly RunScene[];
  readonly logs: RunLogs;
  readonly journal: readonly JournalLine[];
  /** What a run gives that nothing happened to. */
  readonly undisturbed: unknown;
}

export interface SurvivedRun {
  /** `RUN:STEP` of steps that were in doubt. */
  readonly interrupted: readonly string[];
  /** Steps that were done again, since they may be. */
  readonly rerun: number;
}

/** Throws an AssertionError unless the run lost nothing, did nothing twice, kept its times and came to the right end. */
export function checkRunSurvival(survivor: SurvivingRun): SurvivedRun {
  const { logs, run, journal } = survivor;
  checkNothingLost(survivor);
  const interrupted: string[] = [];
  for (const [name, log] of logs) {
    const state = foldRun(log);
    checkFolds(log, state);
    assert.equal(
      state.status,
      'completed',
      `${name} ended as ${state.status}: ${JSON.stringify(state.error)}`,
    );
    const open = [...state.steps.values()].filter(
      ({ status }) => status === 'running' || status === 'retrying',
    );
    assert.deepEqual(
      open.map(({ step }) => step),
      [],
      `${name} has steps without an end`,
    );
    checkSteps(survivor, name, log);
    checkWaits(name, log);
    for (const step of checkDoubt(survivor, name, log)) interrupted.push(`${name}:${step}`);
    checkCalls(logs, name, state);
  }
  checkNothingTwice(survivor);
  assert.deepEqual(unsoundCauses(logs), [], 'causes lead nowhere');
  const output = foldRun(logs.get(run) ?? []).output;
  if (interrupted.length === 0)
    assert.deepEqual(
      output,
      survivor.undisturbed,
      'the output is not that of a run that nothing happened to',
    );
  const starts = journal.filter(({ what }) => what === 'start').map(keyOf);
  return { interrupted, rerun: starts.length - triesOf(survivor) };
}

const of = <Type extends RunEventType>(log: readonly RunEvent[], type: Type) =>
  log.filter((event): event is RunEventOf<Type> => event.type === type);
const keyOf = ({ session, id }: JournalLine) => `${session}:${id}`;
const repeated = (all: readonly string[]) =>
  all.filter((one, index) => all.indexOf(one) !== index).join(', ');
const unique = (all: readonly string[], what: string) =>
  assert.equal(new Set(all).size, all.length, `${what}: ${repeated(all)}`);

function checkNothingLost({ run, logs, printed, scenes }: SurvivingRun): void {
  for (const [name, log] of logs)
    assert.deepEqual(
      log.map(({ seq }) => seq),
      log.map((_, index) => index + 1),
      `the log of ${name} has gaps`,
    );
  for (const event of printed.flat())
    assert.deepEqual(
      logs.get(run)?.[event.seq - 1],
      event,
      `event ${event.seq} is not what a process printed`,
    );
  for (const [index, scene] of scenes.entries())
    for (const [name, log] of scene.logs)
      assert.deepEqual(
        logs.get(name)?.slice(0, log.length),
        log,
        `the log of ${name} that kill ${index + 1} left is not how the last one begins`,
      );
}

/** A step ends once; one that has completed was done, and begun before. */
function checkSteps({ tools, journal }: SurvivingRun, run: string, log: readonly RunEvent[]): void {
  const ends = log.filter(({ type }) => /^step\.(completed|failed|skipped|cancelled)$/.test(type));
  unique(
    ends.map((event) => (event as RunEventOf<'step.completed'>).step),
    `steps of ${run} ended twice`,
  );
  const done = new Set(journal.filter(({ what }) => what === 'done').map(keyOf));
  const effects = new Set(journal.filter(({ tool }) => tools.some(({ name }) => name === tool)).map(keyOf));
  for (const { step } of of(log, 'step.completed')) {
    assert.ok(
      of(log, 'step.started').some((event) => event.step === step),
      `${step} was never begun`,
    );
    const key = `${run}:${step}`;
    assert.ok(!effects.has(key) || done.has(key), `${key} is completed, but was not done`);
  }
  for (const key of effects)
    if (key.startsWith(`${run}:`))
      assert.ok(
        of(log, 'step.started').some(({ step }) => `${run}:${step}` === key),
        `${key} was done, and the log does not know of it`,
      );
}

/** Each wait was set once, fired once, and not before its time. */
function checkWaits(run: string, log: readonly RunEvent[]): void {
  const set = of(log, 'timer.set');
  const fired = of(log, 'timer.fired');
  unique(
    set.map(({ id }) => id),
    `waits of ${run} were set twice`,
  );
  unique(
    fired.map(({ id }) => id),
    `waits of ${run} fired twice`,
  );
  assert.deepEqual(fired.map(({ id }) => id).sort(), set.map(({ id }) => id).sort(), `waits of ${run}`);
  for (const { id, at } of fired) {
    const due = set.find((one) => one.id === id)?.due ?? 0;
    assert.ok(at >= due, `${id} of ${run} fired ${due - at} ms early`);
  }
  for (const { step, due } of of(log, 'step.retrying')) {
    const next = of(log, 'step.started').find((event) => event.step === step && event.attempt > 1);
    assert.ok(next !== undefined && next.at >= due, `${step} of ${run} was tried again before its time`);
  }
}

/** What was in doubt and is not to be done twice is interrupted, and nothing else; gives their addresses. */
function checkDoubt({ scenes }: SurvivingRun, run: string, log: readonly RunEvent[]): readonly string[] {
  const interrupted = of(log, 'step.interrupted');
  for (const { step } of interrupted) {
    const began = of(log, 'step.started').findLast((event) => event.step === step);
    assert.equal(began?.repeatable, false, `${step} of ${run} may be done again, but was interrupted`);
    const failed = of(log, 'step.failed').find((event) => event.step === step);
    assert.equal(failed?.error.code, 'interrupted', `${step} of ${run} did not fail as interrupted`);
  }
  for (const scene of scenes) {
    const then = foldRun(scene.logs.get(run) ?? []);
    for (const { step, status, repeatable, input } of then.steps.values()) {
      if (status !== 'running' || repeatable || input === undefined) continue;
      assert.ok(
        interrupted.some((event) => event.step === step),
        `${step} of ${run} was in doubt after a kill, and was not interrupted`,
      );
    }
  }
  for (const { step, error } of of(log, 'step.failed'))
    assert.equal(error.code, 'interrupted', `${step} of ${run} failed: ${error.message}`);
  return interrupted.map(({ step }) => step);
}

/** What a step got from a run that it called is what that run gave. */
function checkCalls(logs: RunLogs, run: string, state: RunState): void {
  for (const [name, log] of logs) {
    const { origin, output } = foldRun(log);
    if (origin.parent?.run !== run) continue;
    const step = state.steps.get(origin.parent.step);
    assert.equal(step?.status, 'completed', `${name} has completed, but not the step that called it`);
    assert.deepEqual(step?.output, output, `the step that called ${name} has another output`);
  }
}

function checkNothingTwice({ tools, logs, journal, scenes }: SurvivingRun): void {
  for (const [index, scene] of scenes.entries()) {
    const over = new Set(
      [...scene.logs].flatMap(([run, log]) => of(log, 'step.completed').map(({ step }) => `${run}:${step}`)),
    );
    for (const line of journal.slice(scene.journalLength))
      assert.ok(
        line.what === 'done' || !over.has(keyOf(line)),
        `${keyOf(line)} had completed, and was done again after kill ${index + 1}`,
      );
  }
  // What may not be done twice was done at most once for each try that the log knows of.
  for (const { name, idempotent } of tools) {
    if (idempotent) continue;
    const starts = journal.filter(({ what, tool }) => what === 'start' && tool === name);
    for (const line of starts) {
      const tries = of(logs.get(line.session) ?? [], 'step.started').filter(({ step }) => step === line.id);
      const times = starts.filter((other) => keyOf(other) === keyOf(line)).length;
      assert.ok(times <= tries.length, `${keyOf(line)} may not be done twice, and was done ${times} times`);
    }
  }
}

/** Tries of steps with effects, as the logs know them. */
function triesOf({ logs, journal }: SurvivingRun): number {
  const effects = new Set(journal.map(keyOf));
  let tries = 0;
  for (const [run, log] of logs)
    tries += of(log, 'step.started').filter(({ step }) => effects.has(`${run}:${step}`)).length;
  return tries;
}

function checkFolds(log: readonly RunEvent[], state: RunState): void {
  for (const at of [1, Math.floor(log.length / 3), Math.floor(log.length / 2), log.length - 1])
    assert.deepEqual(
      foldRun(log.slice(at), foldRun(log.slice(0, at))),
      state,
      `folding in two at ${at} gives another state`,
    );
}
