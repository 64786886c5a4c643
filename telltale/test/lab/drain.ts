import { sleepMs } from './lab-home.ts';
import { isAlive, type Stage } from './lab-round.ts';

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
  { observer, workload, members }: Pick<Stage, 'observer' | 'workload' | 'members'>,
  onProgress: (line: string) => void,
): Promise<Quiet> {
  let told = 0;
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
    const due = Math.max(...left.map((info) => info.due ?? 0));
    if (idleMs > PUT_OFF_MS && due > now) for (const member of members) member.setClock(due - now + 1_000);
    await sleepMs(LOOK_MS);
  }
}
