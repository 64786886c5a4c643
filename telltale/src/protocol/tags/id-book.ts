/** Ids taken in the session, with the exception for the branches of an `<if>`. */
export interface IdBook {
  /** Whether `id` may be taken here: it is new, or it was taken only in the other branch of an `<if>` around here. */
  isFree(id: string): boolean;
  take(id: string): void;
  /** The first of a1, a2, … that nothing in the session has taken, other branches included. */
  automatic(): string;
  openForeach(): void;
  /** With `gaveBack`, its actions did not run: what was taken in it is free again. */
  closeForeach(gaveBack: boolean): void;
  openIf(): void;
  elseIf(): void;
  closeIf(): void;
}

interface Branches {
  readonly thenFrom: number;
  /** Where the other branch began; -1 until `<else/>`. */
  thenTo: number;
}

/**
 * Below this number every automatic id of a session's set is taken: a parser for each turn would otherwise look through
 * all earlier turns' ids again (20 ms a turn with 100,000 of them, measured). Only a place to start from: what is
 * taken is asked of the set itself.
 */
const firstFree = new WeakMap<Set<string>, number>();
const REMEMBERED = 16;

/**
 * Every taking inside an `<if>` or `<foreach>` has a position. An id may come again if its last position lies in the
 * first branch of an `<if>` whose second one is open. Those ranges are disjoint and in stack order, so one binary
 * search decides, however deep the nesting is.
 */
export function createIdBook(ids: Set<string>): IdBook {
  const positions = new Map<string, number>();
  const log: { readonly id: string; readonly before: number | undefined; readonly isNew: boolean }[] = [];
  const ifs: Branches[] = [];
  const elses: Branches[] = [];
  /** Where in the log the open `<foreach>` began; -1 outside one. */
  let foreachFrom = -1;
  let next = firstFree.get(ids) ?? 1;

  const inOtherBranch = (position: number): boolean => {
    let low = 0;
    let high = elses.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((elses[middle] as Branches).thenTo <= position) low = middle + 1;
      else high = middle;
    }
    const candidate = elses[low];
    return candidate !== undefined && candidate.thenFrom <= position;
  };

  const giveBack = (from: number) => {
    while (log.length > from) {
      const last = log.pop();
      if (last === undefined) return;
      if (last.isNew) {
        ids.delete(last.id);
        next = Math.min(next, automaticNumber(last.id));
      }
      if (last.before === undefined) positions.delete(last.id);
      else positions.set(last.id, last.before);
    }
    if (next < (firstFree.get(ids) ?? 1)) firstFree.set(ids, next);
  };

  return {
    isFree(id) {
      if (!ids.has(id)) return true;
      const position = positions.get(id);
      return position !== undefined && inOtherBranch(position);
    },
    take(id) {
      if (ifs.length > 0 || foreachFrom >= 0) {
        log.push({ id, before: positions.get(id), isNew: !ids.has(id) });
        positions.set(id, log.length - 1);
      }
      ids.add(id);
    },
    automatic() {
      let id = `a${next}`;
      while (ids.has(id)) id = `a${++next}`;
      if (next % REMEMBERED === 0) firstFree.set(ids, next);
      return id;
    },
    openForeach() {
      foreachFrom = log.length;
    },
    closeForeach(gaveBack) {
      if (gaveBack && log.length > foreachFrom) giveBack(foreachFrom);
      foreachFrom = -1;
    },
    openIf() {
      ifs.push({ thenFrom: log.length, thenTo: -1 });
    },
    elseIf() {
      const innermost = ifs.at(-1);
      if (innermost === undefined) return;
      innermost.thenTo = log.length;
      elses.push(innermost);
    },
    closeIf() {
      const closed = ifs.pop();
      if (closed !== undefined && closed === elses.at(-1)) elses.pop();
    },
  };
}

/** The n of an id `an` that could have been an automatic one; infinite for any other. */
function automaticNumber(id: string): number {
  return /^a[1-9]\d*$/.test(id) ? Number(id.slice(1)) : Number.POSITIVE_INFINITY;
}
