import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isWell, judge, type Verdict } from './judge.ts';
import { type LabCase, repeatCommand } from './lab-case.ts';
import { faultlessCases, pairCases, type Selection, singleCases, tracesOf } from './plan-cases.ts';
import { type CaseRun, forget, runCase } from './run-case.ts';
import { type ProviderHost, startProviderHost } from './stand-in.ts';

const SIDE_BY_SIDE = 4;

export interface Exploring extends Selection {
  /** Pairs of mistakes for each dialect. */
  readonly pairs: number;
  /** Of the planned runs, those to make: all by default. */
  readonly thin?: (cases: readonly LabCase[]) => readonly LabCase[];
  readonly print: (line: string) => void;
  /** Whether there is time for one more run. */
  readonly hasTime?: () => boolean;
}

export interface Explored {
  readonly verdicts: readonly Verdict[];
  /** Runs for which there was no time. */
  readonly left: number;
}

/** Runs the tasks without mistakes, then with each, then with pairs of them. What goes wrong is printed and kept. */
export async function explore(options: Exploring): Promise<Explored> {
  const { pairs, print, thin = (cases) => cases } = options;
  const host = await startProviderHost();
  try {
    const faultless = await runAll(faultlessCases(options), host, options);
    const singles = thin(singleCases(options, tracesOf(faultless.runs)));
    print(`${singles.length} runs with one mistake, ${pairs} pairs for each dialect`);
    const spoilt = await runAll(singles, host, options);
    const paired = await runAll(pairCases(options, singles, pairs), host, options);
    const all = [faultless, spoilt, paired];
    return {
      verdicts: all.flatMap(({ runs }) => runs.map(({ verdict }) => verdict)),
      left: all.reduce((sum, each) => sum + each.left, 0),
    };
  } finally {
    await host.close();
  }
}

/** Runs these and no others. */
export async function runThese(
  cases: readonly LabCase[],
  options: Pick<Exploring, 'print'>,
): Promise<readonly Verdict[]> {
  const host = await startProviderHost();
  try {
    const { runs } = await runAll(cases, host, options);
    return runs.map(({ verdict }) => verdict);
  } finally {
    await host.close();
  }
}

interface Ran {
  readonly case: LabCase;
  readonly spoken: CaseRun['spoken'];
  readonly verdict: Verdict;
}

async function runAll(
  cases: readonly LabCase[],
  host: ProviderHost,
  { print, hasTime = () => true }: Pick<Exploring, 'print' | 'hasTime'>,
): Promise<{ readonly runs: readonly Ran[]; readonly left: number }> {
  const runs: Ran[] = [];
  const left = [...cases];
  const worker = async () => {
    while (hasTime()) {
      const next = left.shift();
      if (next === undefined) return;
      const run = await runCase(next, host);
      const verdict = judge(next, run);
      runs.push({ case: next, spoken: run.spoken, verdict });
      if (isWell(verdict)) forget(run);
      else print(failureText(verdict, keep(run, verdict)));
    }
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, worker));
  return { runs, left: left.length };
}

/** Puts the log and the requests beside the workspace. */
function keep({ folder, events, spoken }: CaseRun, { differences }: Verdict): string {
  mkdirSync(folder, { recursive: true });
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  write('events.jsonl', events.map((event) => `${JSON.stringify(event)}\n`).join(''));
  write(
    'turns.json',
    JSON.stringify(
      spoken.map(({ body, move, made, view: { news } }) => ({
        news,
        move,
        mistakes: made.map(({ mistake }) => mistake),
        body,
      })),
      null,
      2,
    ),
  );
  write('differences.txt', `${differences.join('\n')}\n`);
  return folder;
}

function failureText(verdict: Verdict, folder: string): string {
  const { case: labCase, extra, mayCost, forbidden, untold, problems, differences } = verdict;
  const tooMany =
    labCase.mistakes.length <= 1 && extra > mayCost ? [`${extra} extra turns, ${mayCost} allowed`] : [];
  const refused = problems.slice(0, 3).map((problem) => `the provider would refuse the request: ${problem}`);
  return [
    `✗ ${labCase.task} in ${labCase.dialect} over ${labCase.provider}`,
    ...[...differences, ...tooMany, ...forbidden, ...untold, ...refused].map((each) => `    ${each}`),
    `    ${repeatCommand(labCase)}`,
    `    ${folder}`,
  ].join('\n');
}
