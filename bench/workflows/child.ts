// One contestant in a process of its own: `child.ts FILE OPTIONS`. Its last line is JSON.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ContestFigures, ContestOptions, OpenContest, WorkflowContestant } from './contestant.ts';

interface Options extends Omit<ContestOptions, 'folder'> {
  readonly runs: number;
  readonly rounds: number;
}

/** Long enough for code to be compiled. */
const WARM_UP_MS = 3_000;
/** Shorter rounds would show the pauses of the machine. */
const ROUND_MS = 1_000;

const [file = '', given = '{}'] = process.argv.slice(2);
const options = JSON.parse(given) as Options;
const folder = mkdtempSync(join(tmpdir(), 'telltale-bench-workflows-'));
try {
  const { contestant } = (await import(file)) as { readonly contestant: WorkflowContestant };
  const contest = await contestant.open({ ...options, folder });
  const figures = await measure(contest);
  await contest.close();
  console.log(JSON.stringify(figures));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0); // peers leave timers and pools behind

async function measure(contest: OpenContest): Promise<ContestFigures> {
  const { steps, runs, rounds, atOnce } = options;
  let begun = 0;
  const together = async (count: number) => {
    let left = count;
    const worker = async () => {
      while (left-- > 0) await contest.run(begun++);
    };
    await Promise.all(Array.from({ length: Math.min(atOnce, count) }, worker));
  };
  const perRound = Math.ceil(runs / rounds);
  /** How many workflows were run in at least that time. */
  const lasting = async (ms: number) => {
    const started = performance.now();
    let count = 0;
    do {
      await together(perRound);
      count += perRound;
    } while (performance.now() - started < ms);
    return count;
  };
  await lasting(WARM_UP_MS);
  const perSecond: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const started = performance.now();
    const count = await lasting(ROUND_MS);
    perSecond.push((count * steps * 1000) / (performance.now() - started));
  }
  return { perSecond, expected: begun * steps, ran: contest.ran() };
}
