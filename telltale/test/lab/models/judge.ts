import type { JsonObject } from '../../../src/lib/json.ts';
import type { SessionEvent } from '../../../src/log/event.ts';
import type { LabCase } from './lab-case.ts';
import type { CaseRun, Spoken } from './run-case.ts';

export interface Verdict {
  readonly case: LabCase;
  /** Whether every mistake that was planned could be made. */
  readonly isMade: boolean;
  readonly isSame: boolean;
  /** Requests beyond those of a faultless model. */
  readonly extra: number;
  /** Of a single mistake, how many there may be. */
  readonly mayCost: number;
  readonly forbidden: readonly string[];
  /** What the model ought to have been told, and was not. */
  readonly untold: readonly string[];
  readonly problems: readonly string[];
  /** What differs, in words; empty where all is well. */
  readonly differences: readonly string[];
}

export function judge(labCase: LabCase, run: CaseRun): Verdict {
  const { spoken, task } = run;
  const made = spoken.flatMap((each) => each.made);
  const differences = differencesOf(run);
  return {
    case: labCase,
    isMade: made.length === labCase.mistakes.length,
    isSame: differences.length === 0,
    extra: spoken.length - task.turns,
    mayCost: made.reduce((sum, { spoilt }) => sum + spoilt.mayCost, 0),
    forbidden: [...canaries(run), ...repeated(run), ...early(run.events)],
    untold: untold(spoken),
    problems: [...new Set(run.problems)],
    differences,
  };
}

/** Whether a run with one mistake went as it has to; one with several need only come to the same end. */
export const isWell = (verdict: Verdict): boolean =>
  verdict.isSame &&
  verdict.forbidden.length === 0 &&
  verdict.problems.length === 0 &&
  (verdict.case.mistakes.length > 1 || (verdict.extra <= verdict.mayCost && verdict.untold.length === 0));

function differencesOf({ task, result, answers, files }: CaseRun): readonly string[] {
  const found: string[] = [];
  if (result.status !== 'completed')
    found.push(
      `the session is ${result.status}${result.error === undefined ? '' : ` (${result.error.code}: ${result.error.message})`}`,
    );
  const [is, should] = [answers, task.answers].map((each) => JSON.stringify(each));
  if (is !== should) found.push(`the answer is ${is}, not ${should}`);
  const expected: Readonly<Record<string, string>> = { ...task.files, ...task.changed };
  for (const name of new Set([...Object.keys(expected), ...Object.keys(files)]))
    if (files[name] !== expected[name])
      found.push(
        `the file ${name} is ${JSON.stringify(files[name] ?? null)}, not ${JSON.stringify(expected[name] ?? null)}`,
      );
  return found;
}

/** What was only quoted, or asked for by a page. */
function canaries({ events, files }: CaseRun): readonly string[] {
  const started = events.filter(
    (event) => event.type === 'action.started' && JSON.stringify(event.input ?? null).includes('CANARY'),
  );
  return [
    ...started.map(() => 'a call that was only quoted was started'),
    ...('canary.txt' in files ? ['a call that was only quoted took effect'] : []),
  ];
}

/** What must not be done twice was started no more often than it was said. */
function repeated({ events, spoken }: CaseRun): readonly string[] {
  const left = new Map<string, number>();
  const count = (parameters: JsonObject, by: number) => {
    const key = JSON.stringify(parameters);
    left.set(key, (left.get(key) ?? 0) + by);
    return left.get(key) ?? 0;
  };
  const risky = spoken.flatMap(({ move }) =>
    move.acts.filter(({ idempotent, isRepeated }) => idempotent !== true && isRepeated !== true),
  );
  for (const { parameters } of risky) count(parameters, 1);
  const names = new Set(risky.map(({ parameters }) => JSON.stringify(parameters)));
  const found: string[] = [];
  for (const event of events) {
    if (event.type !== 'action.started' || event.attempt > 1) continue;
    const input = event.input;
    if (input === undefined || !names.has(JSON.stringify(input))) continue;
    if (count(input, -1) < 0) found.push(`${JSON.stringify(input)} ran more often than it was called`);
  }
  return found;
}

/** No action starts before all that it depends on has succeeded. */
function early(events: readonly SessionEvent[]): readonly string[] {
  const needs = new Map<string, readonly string[]>();
  const done = new Set<string>();
  const found: string[] = [];
  for (const event of events)
    if (event.type === 'action.declared') {
      needs.set(event.action.id, event.action.depends_on ?? []);
      done.delete(event.action.id);
    } else if (event.type === 'action.completed') done.add(event.id);
    else if (event.type === 'action.started')
      for (const id of needs.get(event.id) ?? [])
        if (!done.has(id)) found.push(`"${event.id}" started before "${id}" had succeeded`);
  return found;
}

function untold(spoken: readonly Spoken[]): readonly string[] {
  return spoken.flatMap(({ made }, index) => {
    const next = spoken[index + 1];
    return made.flatMap(({ mistake, spoilt: { isTold } }) =>
      isTold === undefined || next === undefined || isTold.pattern.test(next.view.news)
        ? []
        : [`after ${mistake} the model was not told ${isTold.what}`],
    );
  });
}
