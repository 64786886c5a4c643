/**
 * How a group's callers compare with its commit. Told all at once, callers and then the commit of what they append take
 * their time one after the other. In two groups in turn, one is written while the callers of the other are told, at the
 * price of one commit more: of the part of it, that is, which does not depend on how much is written (the wait for the
 * disk, the way there and back). That pays where callers take longer than that part does; on a slow disk one large group
 * is better. So both are measured.
 */
export interface Pace {
  /** So many writes are on their way. */
  sent(writes: number): void;
  /**
   * `ms`: how long the commit took, where the one who made it says so. Else it is taken from here, where it may have lain
   * for a while if callers were being told meanwhile: then it says nothing of the commit.
   */
  landed(ms?: number): void;
  /** So many callers are being told. */
  telling(callers: number): void;
  /** They have made what they make in answer. */
  answered(): void;
  /** Whether so many callers, those of both groups, are better told in two groups than in one. */
  pays(callers: number): boolean;
}

/** How much the newest measure counts: a pause of the machine is soon forgotten. */
const SHARE = 0.25;
/** Of commits: more of them are looked at, since they have to differ in size. */
const COMMIT_SHARE = 1 / 32;
/**
 * A commit that takes longer than so many usual ones was held up by something else. With 4, one in five that was made the
 * fixed part of the others look six times as long; with 2, twice.
 */
const MOST_USUAL = 2;
/** Sizes that differ by less than this share of themselves say nothing of what a write costs. */
const LEAST_SPREAD = 0.1;

export function createPace(now: () => number = () => performance.now()): Pace {
  const commits = createLine();
  let sentAt = 0;
  let size = 0;
  let toldAt = 0;
  let told = 0;
  let callerMs = 0;
  return {
    sent(writes) {
      sentAt = now();
      size = writes;
    },
    landed(ms) {
      if (size > 0 && (ms !== undefined || told === 0)) commits.add(size, ms ?? now() - sentAt);
      size = 0; // the reads of a group are answered behind its commit
    },
    telling(callers) {
      toldAt = now();
      told = callers;
    },
    answered() {
      if (told > 0) callerMs += SHARE * ((now() - toldAt) / told - callerMs);
      told = 0;
    },
    pays: (callers) => callers * callerMs > commits.fixedMs(),
  };
}

interface Line {
  add(size: number, ms: number): void;
  /** What a commit of nothing would take: all of it, where sizes were too much alike to tell. */
  fixedMs(): number;
}

/** The straight line nearest to the latest commits, older ones counting less and less. */
function createLine(): Line {
  let share = 1;
  let size = 0;
  let ms = 0;
  let sizeSpread = 0;
  let together = 0;
  return {
    add(newSize, tookMs) {
      const newMs = ms > 0 ? Math.min(tookMs, MOST_USUAL * ms) : tookMs;
      const ahead = newSize - size;
      size += share * ahead;
      ms += share * (newMs - ms);
      sizeSpread += share * ((1 - share) * ahead * ahead - sizeSpread);
      together += share * (ahead * (newMs - ms) - together);
      share = Math.max(COMMIT_SHARE, share / (1 + share));
    },
    fixedMs() {
      const least = (LEAST_SPREAD * size) ** 2;
      const perWrite = Math.max(0, together / (sizeSpread + least || 1));
      return Math.max(0, ms - perWrite * size);
    },
  };
}
