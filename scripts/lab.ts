// `npm run lab [-- sessions|workflows] [--kills N] [--seed N] [--points]`: kills processes at seeded instants while they
// work on sessions and on workflows, and checks after each that nothing was lost and nothing done twice. With --points
// those of sessions kill themselves between any two steps of the runtime instead. The tests do the same, with fewer
// kills.
import { parseArgs } from 'node:util';
import { survivesCrash, undisturbedRun } from '../telltale/test/recovery/crash-run.ts';
import { killUntil } from '../telltale/test/recovery/kill-run.ts';
import { killWorkflowsUntil } from '../telltale/test/recovery/workflow-kill-run.ts';

const SIDE_BY_SIDE = 2;
const SESSION_KILLS = 300;
const WORKFLOW_KILLS = 200;

const {
  values,
  positionals: [only],
} = parseArgs({
  allowPositionals: true,
  options: {
    kills: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    points: { type: 'boolean', default: false },
  },
});

interface Survived {
  readonly seed: number;
  readonly kills: number;
  readonly events: number;
  readonly rerun: number;
  readonly interrupted: readonly string[];
}

async function killSessions(): Promise<void> {
  const { seed, kills } = plan(SESSION_KILLS);
  console.log(`sessions: ${kills} kills, seed ${seed}`);
  const started = performance.now();
  const runs = await killUntil({ seed, kills, sideBySide: SIDE_BY_SIDE, onRun: show(kills) });
  summarise(runs, started, 'sessions', 'actions');
}

async function killWorkflows(): Promise<void> {
  const { seed, kills } = plan(WORKFLOW_KILLS);
  console.log(`workflows: ${kills} kills, seed ${seed}`);
  const started = performance.now();
  const runs = await killWorkflowsUntil({ seed, kills, sideBySide: SIDE_BY_SIDE, onRun: show(kills) });
  summarise(runs, started, 'workflow runs', 'steps');
}

function plan(kills: number): { readonly seed: number; readonly kills: number } {
  return { seed: Number(values.seed), kills: values.kills === undefined ? kills : Number(values.kills) };
}

const show = (kills: number) => (run: Survived, soFar: number) => {
  const lost = run.interrupted.length === 0 ? '' : `, interrupted ${run.interrupted.join(' ')}`;
  console.log(
    `${soFar}/${kills}  seed ${run.seed}: ${run.kills} kills, ${run.events} events, ${run.rerun} run again${lost}`,
  );
};

function summarise(runs: readonly Survived[], started: number, what: string, parts: string): void {
  const sum = (of: (run: Survived) => number) => runs.reduce((all, run) => all + of(run), 0);
  console.log(
    [
      `${sum(({ kills: each }) => each)} kills in ${runs.length} ${what} survived, ${((performance.now() - started) / 1000).toFixed(0)} s:`,
      `  ${sum(({ events }) => events)} events, none lost`,
      `  ${sum(({ rerun }) => rerun)} idempotent ${parts} run again, no other and none that had completed`,
      `  ${sum(({ interrupted }) => interrupted.length)} ${parts} interrupted, ${runs.filter(({ interrupted }) => interrupted.length === 0).length} ${what} with the very same result as one that was left alone`,
    ].join('\n'),
  );
}

async function killAtPoints(): Promise<void> {
  const undisturbed = await undisturbedRun();
  const times = new Map<string, number>();
  for (const point of undisturbed.points) times.set(point, (times.get(point) ?? 0) + 1);
  const left = [...times].flatMap(([point, count]) =>
    Array.from({ length: count }, (_, n) => [point, n + 1] as const),
  );
  const all = left.length;
  let wrong = 0;
  const worker = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const why = await survivesCrash(...next, undisturbed);
      if (why !== undefined) wrong++;
      console.log(`${all - left.length}/${all}  ${next.join(' ')}: ${why ?? 'survived'}`);
    }
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, worker));
  console.log(`${all - wrong} of ${all} points survived.`);
  if (wrong > 0) process.exitCode = 1;
}

try {
  if (only !== undefined && only !== 'sessions' && only !== 'workflows')
    throw new Error(`There is nothing to kill named "${only}": sessions or workflows.`);
  if (values.points) await killAtPoints();
  else {
    if (only !== 'workflows') await killSessions();
    if (only !== 'sessions') await killWorkflows();
  }
} catch (thrown) {
  console.error(`✗ ${thrown instanceof Error ? thrown.message : thrown}`);
  process.exitCode = 1;
}
