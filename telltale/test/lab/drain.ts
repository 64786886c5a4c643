import { MOST_MINUTES } from './give-faults.ts';
import { sleepMs } from './lab-home.ts';
import { isAlive, type Stage } from './lab-stage.ts';

/** What was there at a moment at which nothing was under way. */
export interface Quiet {
  readonly streams: ReadonlySet<string>;
  readonly at: number;
}

const LOOK_MS = 100;
/** With no log moving of what is left for so long, it hangs. */
const PATIENCE_MS = 45_000;
/** With no log moving for so long, waits that a wrong clock has put off are made due. */
const PUT_OFF_MS = 3_000;

/** Lets the fleet come to its end without further faults; gives up on what hangs. */
export async function drain(
  { observer, workload, members, giver }: Pick<Stage, 'observer' | 'workload' | 'members' | 'giver'>,
  onProgress: (line: string) => void,
): Promise<Quiet> {
  let told = 0;
  let isAhead = false;
  const clocksSet = (giver.given.clock ?? 0) > 0;
  let [before, since] = ['', performance.now()];
  for (;;) {
    await observer.look();
    const left = [...observer.streams.values()].filter(isAlive);
    // The schedule goes on all the while.
    const stand = left
      .filter(({ name }) => name !== 'tick')
      .map(({ stream, head }) => `${stream} ${head}`)
      .join();
    if (stand !== before) [before, since] = [stand, performance.now()];
    const idleMs = performance.now() - since;
    const now = Date.now();
    if ((left.length === 0 && observer.trouble() === undefined) || idleMs > PATIENCE_MS)
      return { streams: new Set(observer.streams.keys()), at: now };
    if (performance.now() - told > 2_000) {
      told = performance.now();
      onProgress(
        `${left.length} left: ${left
          .slice(0, 4)
          .map(({ stream, status }) => `${stream} ${status}`)
          .join(', ')}`,
      );
    }
    await workload.attend();
    if (idleMs > PUT_OFF_MS && clocksSet && !isAhead) {
      isAhead = true;
      onProgress('clocks are set forward: what a wrong one has put off is due');
      for (const member of members) member.setClock(MOST_MINUTES * 60_000 + 60_000);
      // The database goes by its own clock: a message has the run looked at.
      for (const { kind, stream, due = 0 } of left)
        if (kind === 'run' && due > now) await workload.signal(stream, 'nudge');
    }
    await sleepMs(LOOK_MS);
  }
}
