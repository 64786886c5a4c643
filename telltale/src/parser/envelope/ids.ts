import { MINUS, NINE, UNDERSCORE, ZERO } from '../tags/names.ts';

/** Ids taken in the session, with the exception for the branches of an `<if>`. */
export interface IdBook {
  /** Those that may not be taken again, added to. */
  readonly ids: Set<string>;
  /** Those of earlier turns, which may be, but which no automatic id is. */
  readonly earlier: EarlierIds | undefined;
  /**
   * Every taking inside an `<if>` or `<foreach>` has a position. An id may come again if its last position lies in the
   * first branch of an `<if>` whose second one is open. Those ranges are disjoint and in stack order, so one binary
   * search decides, however deep the nesting is. Made for the first.
   */
  positions: Map<string, number> | undefined;
  log: Taking[];
  ifs: IdsBranches[];
  elses: IdsBranches[];
  /** Where in the log the open `<foreach>` began; -1 outside one. */
  foreachFrom: number;
  /** Every automatic id with a lower number is taken. */
  next: number;
}

/** Ids that were taken in earlier turns of a session. */
export interface EarlierIds {
  has(id: string): boolean;
}

interface Taking {
  readonly id: string;
  readonly before: number | undefined;
  readonly isNew: boolean;
}

interface IdsBranches {
  readonly thenFrom: number;
  /** Where the other branch began; -1 until `<else/>`. */
  thenTo: number;
}

/**
 * Below this number every automatic id of a session's set is taken: a parser for each turn would otherwise look through
 * all earlier turns' ids again (20 ms a turn with 100,000 of them, measured). Only a place to start from: what is
 * taken is asked of the set itself.
 */
const firstFree = new WeakMap<object, number>();
const REMEMBERED = 16;

export function createIdBook(ids: Set<string>, earlier?: EarlierIds): IdBook {
  const next = firstAutomatic(ids, earlier);
  return { ids, earlier, positions: undefined, log: [], ifs: [], elses: [], foreachFrom: -1, next };
}

function firstAutomatic(ids: Set<string>, earlier: EarlierIds | undefined): number {
  if (earlier === undefined) return firstFree.get(ids) ?? 1;
  const known = firstFree.get(earlier) ?? 1;
  let next = known;
  while (earlier.has(`a${next}`)) next++;
  if (next > known) firstFree.set(earlier, next);
  return next;
}

/**
 * For the next turn of the same session: no branch is open, and what was taken in any is taken. Where somebody else knows
 * of earlier turns, none is.
 */
export function renewIdBook(book: IdBook): void {
  if (book.earlier !== undefined) book.ids.clear();
  book.positions = undefined;
  book.log = [];
  book.ifs = [];
  book.elses = [];
  book.foreachFrom = -1;
  book.next = firstAutomatic(book.ids, book.earlier);
}

/**
 * Takes `id`, if it may be taken here: it is new, or it was taken only in the other branch of an `<if>` around here.
 * False, and nothing done, where it may not.
 */
export function takeId(book: IdBook, id: string): boolean {
  return takeNew(book, id) || takeAgain(book, id);
}

/** Takes the first of a1, a2, … that nothing in the session has taken, other branches included. */
export function takeAutomaticId(book: IdBook): string {
  let id: string;
  do id = `a${book.next++}`;
  while (book.earlier?.has(id) === true || !takeNew(book, id));
  if (book.earlier === undefined && book.next % REMEMBERED === 0) firstFree.set(book.ids, book.next);
  return id;
}

/** One search in the set rather than one to ask and one to add: its size tells whether the id was in it. */
function takeNew(book: IdBook, id: string): boolean {
  const { ids } = book;
  const before = ids.size;
  ids.add(id);
  if (ids.size === before) return false;
  if (book.ifs.length > 0 || book.foreachFrom >= 0) note(book, id, true);
  return true;
}

function takeAgain(book: IdBook, id: string): boolean {
  const position = book.positions?.get(id);
  if (position === undefined || !isInOtherBranch(book.elses, position)) return false;
  note(book, id, false);
  return true;
}

function note(book: IdBook, id: string, isNew: boolean): void {
  book.positions ??= new Map();
  book.log.push({ id, before: book.positions.get(id), isNew });
  book.positions.set(id, book.log.length - 1);
}

export function openForeach(book: IdBook): void {
  book.foreachFrom = book.log.length;
}

/** With `gaveBack`, its actions did not run: what was taken in it is free again. */
export function closeForeach(book: IdBook, gaveBack: boolean): void {
  if (gaveBack && book.log.length > book.foreachFrom) giveBack(book, book.foreachFrom);
  book.foreachFrom = -1;
}

export function openIf(book: IdBook): void {
  book.ifs.push({ thenFrom: book.log.length, thenTo: -1 });
}

export function elseIf(book: IdBook): void {
  const innermost = book.ifs.at(-1);
  if (innermost === undefined) return;
  innermost.thenTo = book.log.length;
  book.elses.push(innermost);
}

export function closeIf(book: IdBook): void {
  const closed = book.ifs.pop();
  if (closed !== undefined && closed === book.elses.at(-1)) book.elses.pop();
}

function isInOtherBranch(elses: readonly IdsBranches[], position: number): boolean {
  let low = 0;
  let high = elses.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((elses[middle] as IdsBranches).thenTo <= position) low = middle + 1;
    else high = middle;
  }
  const candidate = elses[low];
  return candidate !== undefined && candidate.thenFrom <= position;
}

function giveBack(book: IdBook, from: number): void {
  const { ids, positions } = book;
  while (book.log.length > from) {
    const last = book.log.pop();
    if (last === undefined) return;
    if (last.isNew) {
      ids.delete(last.id);
      book.next = Math.min(book.next, automaticNumber(last.id));
    }
    if (last.before === undefined) positions?.delete(last.id);
    else positions?.set(last.id, last.before);
  }
  if (book.next < (firstFree.get(ids) ?? 1)) firstFree.set(ids, book.next);
}

/** The n of an id `an` that could have been an automatic one; infinite for any other. */
function automaticNumber(id: string): number {
  return /^a[1-9]\d*$/.test(id) ? Number(id.slice(1)) : Number.POSITIVE_INFINITY;
}

/** A loop, since most ids are a few characters: nothing has to be entered and left, as for a regular expression. */
export function isId(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    const lower = c | 32;
    const isLetter = lower >= 97 && lower <= 122;
    if (!isLetter && !(c >= ZERO && c <= NINE) && c !== UNDERSCORE && c !== MINUS) return false;
  }
  return text !== '';
}

export const ID_FORM = 'letters, digits, "_" and "-"';
