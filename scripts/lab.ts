// `npm run lab [-- --kills N] [--seed N] [--points]`: kills processes at seeded instants while they work on sessions, and
// checks after each session that nothing was lost and nothing done twice. With --points they kill themselves between
// any two steps of the runtime instead. The tests do the same, with fewer kills.
import { parseArgs } from 'node:util';
import { survivesCrash, undisturbedRun } from '../telltale/test/recovery/crash-run.ts';
import { killUntil } from '../telltale/test/recovery/kill-run.ts';

const SIDE_BY_SIDE = 2;

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '300' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    points: { type: 'boolean', default: false },
  },
});

async function killAtInstants(): Promise<void> {
  const seed = Number(values.seed);
  const kills = Number(values.kills);
  console.log(`${kills} kills, seed ${seed}`);
  const started = performance.now();
  const runs = await killUntil({
    seed,
    kills,
    sideBySide: SIDE_BY_SIDE,
    onRun(run, soFar) {
      const lost = run.interrupted.length === 0 ? '' : `, interrupted ${run.interrupted.join(' ')}`;
      console.log(
        `${soFar}/${kills}  seed ${run.seed}: ${run.kills} kills, ${run.events} events, ${run.rerun} run again${lost}`,
      );
    },
  });
  const sum = (of: (run: (typeof runs)[number]) => number) => runs.reduce((all, run) => all + of(run), 0);
  console.log(
    [
      `${sum(({ kills: each }) => each)} kills in ${runs.length} sessions survived, ${((performance.now() - started) / 1000).toFixed(0)} s:`,
      `  ${sum(({ events }) => events)} events, none lost`,
      `  ${sum(({ rerun }) => rerun)} idempotent actions run again, no other and none that had completed`,
      `  ${sum(({ interrupted }) => interrupted.length)} actions interrupted, ${runs.filter(({ interrupted }) => interrupted.length === 0).length} sessions with the very same result as one that was left alone`,
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
  await (values.points ? killAtPoints() : killAtInstants());
} catch (thrown) {
  console.error(`✗ ${thrown instanceof Error ? thrown.message : thrown}`);
  process.exitCode = 1;
}
