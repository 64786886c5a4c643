import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { answer, PROMPT, stepScript } from '../agents/scenario.ts';
import { openAction, writeAgent } from '../agents/write-agent.ts';
import { median } from '../parsing/measure.ts';

export interface TurnFigures {
  /** Microseconds of CPU time per turn, all threads: around turn 30 and around turn 3,000. */
  readonly earlyUs: number;
  readonly lateUs: number;
  /** The median of the ratios of each round. */
  readonly ratio: number;
}

interface TurnOptions {
  readonly root: string;
  readonly rounds: number;
  /** Each turn also looks at all turns before it. */
  readonly handicap: boolean;
  readonly progress: (line: string) => void;
}

/** The turns that are timed: from the request for the first to the request for the last. */
interface Window {
  readonly from: number;
  readonly to: number;
}
const EARLY: Window = { from: 20, to: 40 };
const LATE: Window = { from: 2_900, to: 3_100 };
/** As many turns are timed early as late. */
const SHORT_SESSIONS = (LATE.to - LATE.from) / (EARLY.to - EARLY.from);
/** Rounds that are not counted, while code is still being compiled. */
const WARM_UP_ROUNDS = 3;

/** Short sessions and one long session in each round, on SQLite. */
export async function measureTurns({ root, rounds, handicap, progress }: TurnOptions): Promise<TurnFigures> {
  const { createRuntime, loadAgent } = (await import(
    import.meta.resolve('telltale')
  )) as typeof import('../../telltale/src/index.ts');
  const folder = mkdtempSync(join(root, 'turns-'));
  const agent = await writeAgent(folder, answer, loadAgent);
  const runtime = await createRuntime({
    store: `sqlite:${join(folder, 'log.db')}`,
    durability: 'process',
    cwd: folder,
  });
  const script = stepScript(Number.POSITIVE_INFINITY);
  const timeTurns = async ({ from, to }: Window): Promise<number> => {
    const seen: string[] = [];
    let cpu = process.cpuUsage();
    let used = Number.NaN;
    const { status, error } = await runtime.start(agent, {
      input: PROMPT,
      model: {
        id: 'fake',
        async stream({ turn }, sink) {
          if (turn === from) cpu = process.cpuUsage();
          if (turn === to) {
            const { user, system } = process.cpuUsage(cpu);
            used = (user + system) / (to - from);
            sink.text('<response>Done.</response>');
            return { finish: 'stop', usage: { input: 10, output: 10 } };
          }
          if (handicap) {
            seen.push(`turn ${turn}`);
            if (seen.join('').length === 0) throw new Error('There is no turn.');
          }
          const { said, call } = script(turn - 1);
          sink.text(
            `<thought>${said.join('')}</thought>\n${openAction(call?.id ?? '', call?.query ?? '')}</action>\n`,
          );
          return { finish: 'stop', usage: { input: 10, output: 10 } };
        },
      },
    }).result;
    if (status !== 'completed') throw new Error(`A session ended as ${status}: ${error?.message}`);
    return used;
  };

  const [early, late]: [number[], number[]] = [[], []];
  for (let round = 1 - WARM_UP_ROUNDS; round <= rounds; round += 1) {
    progress(round > 0 ? `turns, round ${round} of ${rounds}` : 'turns, warming up');
    let sum = 0;
    for (let session = 0; session < SHORT_SESSIONS; session += 1) sum += await timeTurns(EARLY);
    const lateUs = await timeTurns(LATE);
    if (round < 1) continue;
    early.push(sum / SHORT_SESSIONS);
    late.push(lateUs);
  }
  await runtime.close();
  return {
    earlyUs: median(early),
    lateUs: median(late),
    ratio: median(late.map((us, round) => us / early[round]!)),
  };
}
