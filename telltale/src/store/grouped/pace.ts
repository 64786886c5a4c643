/** Fewer callers are told at once: what a second commit costs is more than what they take. */
const FEWEST = 16;

/**
 * Whether a group is better parted in two. Told all at once, `n` callers and then the commit of what they append take
 * one after the other; in halves they take place at the same time, for one commit more. That pays where callers take
 * long and a commit does not, and on a slow disk it does not: so both are measured.
 */
export interface Pace {
  sent(): void;
  landed(): void;
  /** `all`: every caller is told now, and the group that is sent next is what they append. */
  told(all: boolean): void;
  pays(callers: number): boolean;
}

export function createPace(): Pace {
  let sentAt = 0;
  let toldAt = 0;
  let commitMs = Number.POSITIVE_INFINITY;
  let callersMs = 0;
  return {
    sent() {
      sentAt = performance.now();
      if (toldAt > 0) callersMs = sentAt - toldAt;
      toldAt = 0;
    },
    landed() {
      commitMs = performance.now() - sentAt;
    },
    told(all) {
      toldAt = all ? performance.now() : 0;
    },
    pays: (callers) => callers >= FEWEST && callersMs * 2 >= commitMs,
  };
}
