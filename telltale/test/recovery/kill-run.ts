import { rmSync } from 'node:fs';
import { checkSurvival, responsesOf, type Survived } from './check-survival.ts';
import { LAB_SCRIPT, LAB_TOOLS, makeLabAgent } from './lab-agent.ts';
import { inspectScene, readJournal, type Scene } from './scene.ts';
import { seeded } from './seeded.ts';
import { type Kill, type Life, startVictim } from './victim-process.ts';

const SESSION = 'ses_lab';
/** Kills that a session may be given before it is left alone. */
const MAX_KILLS = 6;

export interface KillRun extends Survived {
  readonly seed: number;
  readonly kills: number;
  readonly events: number;
}

/** One kill, drawn from the seed: most of them while the session is worked on, some while the process comes up. */
function drawKill(random: () => number): Kill {
  const early = random() < 0.1;
  return early ? { from: 'spawn', ms: random() * 500 } : { from: 'first line', ms: random() * 600 };
}

/** Runs one session through as many kills as the seed says, `most` at most, and checks that it survived them. */
async function killRun(seed: number, most: number, undisturbed: readonly string[]): Promise<KillRun> {
  const random = seeded(seed);
  const planned = Math.min(most, 1 + Math.floor(random() * MAX_KILLS));
  const folder = makeLabAgent();
  const lives: Life[] = [];
  const scenes: Scene[] = [];
  for (let kills = 0; ; ) {
    const kill = kills < planned ? drawKill(random) : undefined;
    const looks = random() < 0.7;
    const life = await startVictim({ folder, session: SESSION, ...(kill === undefined ? {} : { kill }) })
      .life;
    lives.push(life);
    if (!life.killed) break;
    kills++;
    // Where nobody looks, the next process is the first to open the file that the kill left.
    if (looks) scenes.push(await inspectScene(folder, SESSION));
  }
  const last = lives.at(-1);
  if (last?.refused !== undefined)
    throw new Error(`It was refused: ${last.refused.code} ${last.refused.message}`);
  const { log } = await inspectScene(folder, SESSION);
  const survived = checkSurvival({
    tools: LAB_TOOLS,
    script: LAB_SCRIPT,
    printed: lives.map(({ events }) => events),
    scenes,
    log,
    journal: readJournal(folder),
    undisturbed,
  });
  rmSync(folder, { recursive: true });
  return { seed, kills: lives.length - 1, events: log.length, ...survived };
}

/** The responses of a session that nothing happens to. */
async function undisturbedResponses(): Promise<readonly string[]> {
  const folder = makeLabAgent();
  const { ended, events } = await startVictim({ folder, session: SESSION }).life;
  if (ended?.status !== 'completed')
    throw new Error(`The lab's agent does not work: ${JSON.stringify(ended)}`);
  rmSync(folder, { recursive: true });
  return responsesOf(events);
}

export interface KillPlan {
  readonly seed: number;
  readonly kills: number;
  readonly sideBySide: number;
  readonly onRun?: (run: KillRun, killsSoFar: number) => void;
}

/** Kills processes until so many kills have been survived. Rejects, with the seed to see it again, at the first failure. */
export async function killUntil({ seed, kills, sideBySide, onRun }: KillPlan): Promise<readonly KillRun[]> {
  const undisturbed = await undisturbedResponses();
  const runs: KillRun[] = [];
  let given = 0;
  let survived = 0;
  let next = seed;
  const worker = async () => {
    while (given < kills) {
      const runSeed = next++;
      const most = kills - given;
      // What a run does not use is given out again.
      const reserved = Math.min(most, MAX_KILLS);
      given += reserved;
      const run = await killRun(runSeed, reserved, undisturbed).catch((cause: unknown) => {
        throw new Error(
          `${message(cause)}\n\nAgain with: npm run lab -- --seed ${runSeed} --kills ${reserved}`,
          { cause },
        );
      });
      given -= reserved - run.kills;
      survived += run.kills;
      runs.push(run);
      onRun?.(run, survived);
    }
  };
  await Promise.all(Array.from({ length: sideBySide }, worker));
  return runs;
}

const message = (cause: unknown) => (cause instanceof Error ? cause.message : String(cause));
