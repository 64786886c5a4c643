/**
 * How a group's callers compare with its commit. Told all at once, callers and then the commit of what they append take
 * their time one after the other. In two groups in turn, one is written while the callers of the other are told, for one
 * commit more. That pays where callers take longer than a commit does; on a slow disk one large group is better. So both
 * are measured.
 */
export interface Pace {
  sent(): void;
  landed(): void;
  /** So many callers are being told. */
  telling(callers: number): void;
  /** They have made what they make in answer. */
  answered(): void;
  /** Whether so many callers, those of both groups, are better told in two groups than in one. */
  pays(callers: number): boolean;
}

/** How much the newest measure counts: a pause of the machine is soon forgotten. */
const SHARE = 0.25;

export function createPace(): Pace {
  let sentAt = 0;
  let toldAt = 0;
  let told = 0;
  let commitMs = 0;
  let callerMs = 0;
  return {
    sent() {
      sentAt = performance.now();
    },
    landed() {
      commitMs += SHARE * (performance.now() - sentAt - commitMs);
    },
    telling(callers) {
      toldAt = performance.now();
      told = callers;
    },
    answered() {
      if (told > 0) callerMs += SHARE * ((performance.now() - toldAt) / told - callerMs);
      told = 0;
    },
    pays: (callers) => callers * callerMs > commitMs,
  };
}
