import { sleepMs } from './lab-home.ts';
import type { Member } from './member.ts';

/** Tries to start a process, while the database is away or its disk is full. */
const STARTS = 60;
const BETWEEN_STARTS_MS = 400;

/** Starts a process again that ended before it was ready, as whoever watches over it would: its line may be down. */
export async function bringUp(member: Member, most = STARTS): Promise<void> {
  for (let tried = 1; member.status() === 'down'; tried++)
    try {
      await member.start();
    } catch (thrown) {
      if (tried >= most) throw thrown;
      await sleepMs(BETWEEN_STARTS_MS);
    }
}
