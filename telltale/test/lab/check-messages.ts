import { isDeepStrictEqual } from 'node:util';
import type { Json } from '../../src/lib/json.ts';
import type { RunEventOf } from '../../src/log/run-event.ts';
import { type Act, actsOf } from './acts.ts';
import type { Asked, Evidence, StreamLog, Verdict } from './evidence.ts';
import { TICK_MS } from './lab-project.ts';

/** Holds what was asked and answered against the logs: messages, questions, times, calls, results. */
export function checkMessages(evidence: Evidence, verdict: Verdict): void {
  const logs = [...evidence.streams.values()];
  for (const asked of evidence.asked) checkAsked(asked, logs, verdict);
  for (const log of logs) checkReviews(log, verdict);
  checkSchedule(logs, evidence, verdict);
  checkTriggers(logs, verdict);
  for (const log of logs) checkCaller(log, evidence, verdict);
  for (const log of logs) checkAnswer(log, evidence, verdict);
}

function checkAsked(
  { kind, token, acked, stream }: Asked,
  logs: readonly StreamLog[],
  verdict: Verdict,
): void {
  const invariant = kind === 'start' || kind === 'hook' ? 'begun' : 'messages';
  const whose = logs.filter((log) => stream === undefined || kind === 'start' || log.stream === stream);
  let times = whose.reduce((sum, log) => sum + timesIn(log, kind, token), 0);
  // What came too late is left where it is: nobody took it, and nobody lost it.
  if (acked && times === 0 && invariant === 'messages') times = Math.min(1, whose[0]?.left ?? 0);
  verdict.hold(
    invariant,
    acked ? times === 1 : times <= 1,
    () =>
      `${kind} ${token}${stream === undefined ? '' : ` for ${stream}`} came ${times} times${acked ? '' : ' and was not acknowledged'}`,
  );
}

/** How often a log holds what was asked under a token. */
function timesIn({ log }: StreamLog, kind: Asked['kind'], token: string): number {
  const ofKind = (event: StreamLog['log']['events'][number]): boolean => {
    switch (kind) {
      case 'start':
        return (
          (event.type === 'session.started' && event.input.includes(token)) ||
          (event.type === 'workflow.started' && 'token' in event.input && event.input.token === token)
        );
      case 'hook':
        return (
          event.type === 'workflow.started' && 'origin' in event && event.origin.trigger?.seen.id === token
        );
      case 'signal':
        return event.type === 'signal.received' && event.data.n === token;
      case 'steer':
        return event.type === 'message.received' && event.text.includes(token);
    }
  };
  return (log.events as readonly StreamLog['log']['events'][number][]).filter(ofKind).length;
}

function checkReviews({ stream, log }: StreamLog, verdict: Verdict): void {
  const events = log.events as readonly { readonly type: string; readonly review?: string }[];
  for (const { review } of events.filter(({ type }) => type === 'review.requested')) {
    const answers = events.filter((event) => event.type === 'review.resolved' && event.review === review);
    verdict.hold(
      'reviews',
      answers.length === 1,
      () => `${stream}: ${review} was answered ${answers.length} times`,
    );
  }
}

const startOf = ({ log }: StreamLog): RunEventOf<'workflow.started'> | undefined => {
  const [first] = log.events;
  return log.kind === 'run' && first?.type === 'workflow.started'
    ? (first as RunEventOf<'workflow.started'>)
    : undefined;
};

/** So much before the end, a time whose process died may still be to be made up for. */
const MADE_UP_MS = 25_000;

function checkSchedule(
  logs: readonly StreamLog[],
  { clocksSet, quietAt }: Pick<Evidence, 'clocksSet' | 'quietAt'>,
  verdict: Verdict,
): void {
  const times = logs
    .filter(({ name }) => name === 'tick')
    .map((log) => startOf(log)?.origin.trigger?.seen ?? {})
    .map(({ due, missed }) => ({ due: dueOf(due), missed: Number(missed ?? 0) }))
    .sort((one, other) => one.due - other.due);
  for (const [index, { due, missed }] of times.entries()) {
    if (index === 0) continue;
    const before = times[index - 1]?.due ?? 0;
    verdict.hold('schedules', due > before, () => `two runs are of ${timeOf(due)}`);
    // One run may stand for several times, and says for how many.
    if (!clocksSet && due < quietAt - MADE_UP_MS)
      verdict.hold(
        'schedules',
        due - before === TICK_MS * (1 + missed),
        () => `nothing ran between ${timeOf(before)} and ${timeOf(due)}, and ${missed} are said to be missed`,
      );
  }
}

const timeOf = (at: number): string => new Date(at).toISOString();
const dueOf = (due: Json | undefined): number => (typeof due === 'number' ? due : Date.parse(String(due)));

function checkTriggers(logs: readonly StreamLog[], verdict: Verdict): void {
  const fired = new Set<string>();
  for (const { stream, log } of logs)
    for (const event of log.events)
      if (event.type === 'trigger.fired') {
        fired.add(event.run);
        const runs = logs.filter((other) => other.stream === event.run);
        verdict.hold(
          'triggers',
          runs.length === 1,
          () => `${stream}: ${event.run} was set off, and is not there`,
        );
      }
  for (const log of logs) {
    const origin = startOf(log)?.origin;
    if (origin?.trigger === undefined || origin.session === undefined) continue;
    verdict.hold('triggers', fired.has(log.stream), () => `${log.stream} runs, and nothing set it off`);
  }
}

const outputOf = ({ log }: StreamLog): Json | undefined => {
  // The log of a session also holds the ends of runs that it set off.
  const last = log.events.findLast(
    ({ type }) => type === (log.kind === 'run' ? 'workflow.completed' : 'session.completed'),
  );
  if (last?.type === 'session.completed') return last.result;
  return last?.type === 'workflow.completed' ? last.output : undefined;
};

function checkCaller(log: StreamLog, { streams }: Evidence, verdict: Verdict): void {
  const origin = startOf(log)?.origin;
  const [caller, id] =
    origin?.parent !== undefined
      ? [origin.parent.run, origin.parent.step]
      : [origin?.session?.id ?? '', origin?.action ?? ''];
  if (id === '') return;
  const above = streams.get(caller);
  const got = above === undefined ? undefined : actsOf(above).get(id)?.completed;
  verdict.hold(
    'calls',
    got !== undefined && isDeepStrictEqual(got.output, outputOf(log)),
    () =>
      `${log.stream} gave ${JSON.stringify(outputOf(log))}, and ${caller}:${id} got ${JSON.stringify(got?.output)}`,
  );
}

/** Whether a step of a run, or of one that it called, was interrupted. */
function wasInterrupted(log: StreamLog, streams: Evidence['streams']): boolean {
  if (log.log.events.some(({ type }) => type === 'step.interrupted')) return true;
  for (const other of streams.values())
    if (startOf(other)?.origin.parent?.run === log.stream && wasInterrupted(other, streams)) return true;
  return false;
}

/** Whether an answer is the expected one, line by line; that of an action which came to nothing says so. */
function isAnswer(found: Json | undefined, expected: Json, acts: ReadonlyMap<string, Act>): boolean {
  if (typeof found !== 'string' || typeof expected !== 'string') return isDeepStrictEqual(found, expected);
  const lines = found.split('\n');
  const wanted = expected.split('\n');
  return (
    lines.length === wanted.length &&
    wanted.every((line, at) => {
      const id = line.slice(0, Math.max(0, line.indexOf(' is ')));
      const act = acts.get(id);
      const isLost = act !== undefined && (act.skipped !== undefined || act.interrupted.length > 0);
      return isLost ? lines[at]?.startsWith(`${id} is [unavailable: ${id}: `) : lines[at] === line;
    })
  );
}

function checkAnswer(log: StreamLog, { streams, undisturbed }: Evidence, verdict: Verdict): void {
  const expected = undisturbed.get(log.name);
  // What was called has an input of its own: its caller's answer shows it.
  if (expected === undefined || startOf(log)?.origin.parent !== undefined) return;
  // What a run gives in place of an interrupted step depends on the workflow.
  if (log.log.kind === 'run' && wasInterrupted(log, streams)) return;
  verdict.hold(
    'answers',
    isAnswer(outputOf(log), expected, log.log.kind === 'run' ? new Map() : actsOf(log)),
    () =>
      `${log.stream} (${log.name}) gave ${JSON.stringify(outputOf(log))}, not ${JSON.stringify(expected)}`,
  );
}
