import type { Kill } from './victim-process.ts';

/** Kills that one session or run may be given before it is left alone. */
export const MAX_KILLS = 6;

export interface KillPlan<Run> {
  readonly seed: number;
  readonly kills: number;
  readonly sideBySide: number;
  readonly onRun?: (run: Run, killsSoFar: number) => void;
}

/** One kill, drawn from the seed: most of them while something is worked on, some while the process comes up. */
export function drawKill(random: () => number): Kill {
  const early = random() < 0.1;
  return early ? { from: 'spawn', ms: random() * 500 } : { from: 'first line', ms: random() * 600 };
}

/**
 * Has one after another run through kills until so many have been survived. Rejects at the first failure, with the seed
 * to see it again.
 */
export async function spendKills<Run extends { readonly kills: number }>(
  what: 'sessions' | 'workflows',
  { seed, kills, sideBySide, onRun }: KillPlan<Run>,
  killRun: (seed: number, most: number) => Promise<Run>,
): Promise<readonly Run[]> {
  const runs: Run[] = [];
  let given = 0;
  let survived = 0;
  let next = seed;
  const worker = async () => {
    while (given < kills) {
      const runSeed = next++;
      // What a run does not use is given out again.
      const reserved = Math.min(kills - given, MAX_KILLS);
      given += reserved;
      const run = await killRun(runSeed, reserved).catch((cause: unknown) => {
        throw new Error(
          `${message(cause)}\n\nAgain with: npm run lab -- ${what} --seed ${runSeed} --kills ${reserved}`,
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
