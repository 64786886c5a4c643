import type { EarlierIds } from '../envelope/ids.ts';
import type { Place } from '../intents.ts';
import { createOutput, type ProseOutput, putText, renewOutput } from '../prose/output.ts';
import type { ReadTag } from './action-intent.ts';
import { type BodyScan, createBodyScan, dropBody } from './body.ts';
import { createTurn, faultBeforeText, renewTurn, type Turn } from './elements.ts';
import type { Fault } from './faults.ts';
import { createMarkdown, type Markdown, renewMarkdown, restartLine, stepMarkdown } from './markdown.ts';
import { ALL_NAMES, BACKTICK, isSpace, LF, LT, OPEN_BRACE, TILDE } from './names.ts';
import { commonScan, type TagScan } from './tag-scan.ts';

// What the next character belongs to.
export const TEXT = 0;
export const TAG = 1;
/** White space after a closing tag in code, which counts if nothing else follows on its line. */
export const TAIL = 2;
/** Between an opening tag and the `{` of its body. */
export const PRELUDE = 3;
export const BODY = 4;
/** In an action with a name and nothing in it, or behind one. */
export const EMPTY = 5;

/** What the next chunk may be taken for at a glance. Words, since they need no look into another module. */
export type Outlook =
  | 'unknown'
  /** Prose in which only `<`, a backtick or a line break changes anything, with nothing held before it. */
  | 'calm prose'
  /** A body, outside a possible tag. */
  | 'calm body'
  /** Nothing: the stream is over. */
  | 'ended';

// Where a possible tag stands. In code only the closing tag of the innermost element can count (rule 2.3).
export const IN_PROSE = 1;
export const IN_SPAN = 2;
export const AFTER_CLOSING_RUN = 3;
export const ALONE_IN_BLOCK = 4;

/**
 * An `<action>` with a name and nothing in it, which acts if it stands alone on its lines, other tags aside: whether it
 * does is only known when its last line ends, or another tag begins. `held` of the reader is the action and what white
 * space follows it; `candidate` is the tag that is being read behind that.
 */
export interface EmptyAction {
  phase: number;
  candidate: string;
  /** How long the action is, and how much white space stands between its tags. */
  length: number;
  space: number;
  readonly scan: TagScan;
}

export interface ReaderOptions {
  readonly maxBody: number;
  readonly actionsIn: readonly Place[];
  readonly key: string | undefined;
  readonly ids: Set<string>;
  readonly earlier: EarlierIds | undefined;
}

/**
 * The characters of one turn: finds the tags (rules 2.1 to 2.3 and 3) and hands them to the turn. A record and plain
 * functions rather than closures: the engine compiles them once for all turns, which halves the cost of a chunk.
 */
export interface Reader {
  readonly output: ProseOutput;
  readonly turn: Turn;
  readonly md: Markdown;
  /** The common one, but for a tag that chunks cut. */
  scan: TagScan;
  // What only actions need is made for the first of a turn.
  prelude: Prelude | undefined;
  body: BodyScan | undefined;
  empty: EmptyAction | undefined;
  readonly maxBody: number;
  mode: number;
  /** What `mode` and the parts come to for the next chunk: one look instead of eight. */
  outlook: Outlook;
  /** Where the chunk being read begins in the stream, and how much had been pushed after the last that was read. */
  offset: number;
  length: number;
  /** Where the body began that is being read. */
  bodyFrom: number;
  /** What was read of a possible tag in earlier chunks. */
  held: string;
  stands: number;
  lineWasBlank: boolean;
  /** The names a closing tag may have to count where it stands; the others leave at once. */
  closable: number;
  /** Not every tag matters here: it may have to leave before it is complete. */
  restricted: boolean;
  placeChecked: boolean;
  tag: ReadTag | undefined;
  tagLength: number;
  saidTooLarge: boolean;
  /** What has to be read again: the tag that broke a body, or that follows an empty action. */
  again: string;
}

export function createReader({ maxBody, actionsIn, key, ids, earlier }: ReaderOptions): Reader {
  const output = createOutput();
  return {
    output,
    turn: createTurn({ output, actionsIn, key, ids, earlier }),
    md: createMarkdown(),
    scan: commonScan(),
    prelude: undefined,
    body: undefined,
    empty: undefined,
    maxBody,
    mode: TEXT,
    outlook: 'unknown',
    offset: 0,
    length: 0,
    bodyFrom: 0,
    held: '',
    stands: IN_PROSE,
    lineWasBlank: true,
    closable: ALL_NAMES,
    restricted: false,
    placeChecked: false,
    tag: undefined,
    tagLength: 0,
    saidTooLarge: false,
    again: '',
  };
}

/** Makes it as it was created, for another turn of the same session. The scans are begun anew where they are used. */
export function renewReader(r: Reader): void {
  renewOutput(r.output);
  renewTurn(r.turn);
  renewMarkdown(r.md);
  if (r.body !== undefined) dropBody(r.body);
  r.mode = TEXT;
  r.outlook = 'unknown';
  r.offset = 0;
  r.length = 0;
  r.bodyFrom = 0;
  r.held = '';
  r.stands = IN_PROSE;
  r.lineWasBlank = true;
  r.closable = ALL_NAMES;
  r.restricted = false;
  r.placeChecked = false;
  r.tag = undefined;
  r.tagLength = 0;
  r.saidTooLarge = false;
  r.again = '';
}

export function bodyOf(r: Reader): BodyScan {
  r.body ??= createBodyScan(r.maxBody);
  return r.body;
}

export function preludeOf(r: Reader): Prelude {
  r.prelude ??= createPrelude();
  return r.prelude;
}

/** Lets go of what the tags and actions of a turn needed: 470 bytes of a session whose model speaks. */
export function forgetActions(r: Reader): void {
  r.prelude = undefined;
  r.body = undefined;
  r.empty = undefined;
  r.scan = commonScan();
}

/** What was held is text: its Markdown counts, but it is not searched for tags. Goes on at `next`. */
export function release(r: Reader, text: string, at: number, next: number, fault?: Fault): number {
  if (fault !== undefined) faultBeforeText(r.turn, fault, at - text.length);
  putText(r.output, text, at);
  const { md } = r;
  const { watched } = md;
  // Of code that begins within it no tag is counted either. In code, only a few characters were held, and count.
  if (r.stands === IN_PROSE) md.watched = undefined;
  for (let i = 0; i < text.length; i++) stepMarkdown(md, text.charCodeAt(i));
  md.watched = watched;
  r.mode = TEXT;
  return next;
}

export function counted(r: Reader): void {
  r.mode = TEXT;
  restartLine(r.md);
  r.md.watched = r.turn.elements.innermost;
}

/** A body may still begin; the character belongs to what is before it. */
export const WAITING = 0;
/** The character is the body's `{`. */
export const BEGINS = 1;
/** No body; the character has to be looked at again. */
const NONE = 2;
/** The same, at a `<` behind nothing but white space. */
export const MAY_CLOSE = 3;
export type PreludeVerdict = 0 | 1 | 2 | 3;

const BEFORE_FENCE = 0;
const FENCE = 1;
const BEFORE_WORD = 2;
const WORD = 3;
const AFTER_WORD = 4;

/** What stands between `<action>` and the `{` of its body: white space and at most the opening of a fence. */
export interface Prelude {
  phase: number;
  mark: number;
  marks: number;
}

function createPrelude(): Prelude {
  return { phase: BEFORE_FENCE, mark: 0, marks: 0 };
}

export function startPrelude(prelude: Prelude): void {
  prelude.phase = BEFORE_FENCE;
  prelude.marks = 0;
}

export function stepPrelude(prelude: Prelude, c: number): PreludeVerdict {
  switch (prelude.phase) {
    case BEFORE_FENCE:
      if (c === OPEN_BRACE) return BEGINS;
      if (isSpace(c)) return WAITING;
      if (c !== BACKTICK && c !== TILDE) return c === LT ? MAY_CLOSE : NONE;
      prelude.phase = FENCE;
      prelude.mark = c;
      prelude.marks = 1;
      return WAITING;
    case FENCE:
      if (c === prelude.mark) {
        prelude.marks++;
        return WAITING;
      }
      return prelude.marks < 3 ? NONE : afterMarks(prelude, c);
    case BEFORE_WORD:
      return afterMarks(prelude, c);
    case WORD:
      if (c === OPEN_BRACE) return BEGINS;
      if (isSpace(c)) prelude.phase = AFTER_WORD;
      else if (!isWord(c)) return NONE;
      return WAITING;
    default: // AFTER_WORD
      return c === OPEN_BRACE ? BEGINS : isSpace(c) ? WAITING : NONE;
  }
}

function afterMarks(prelude: Prelude, c: number): PreludeVerdict {
  if (c === OPEN_BRACE) return BEGINS;
  if (!isSpace(c) && !isWord(c)) return NONE;
  // The word stands on the fence's own line.
  prelude.phase = c === LF ? AFTER_WORD : isSpace(c) ? BEFORE_WORD : WORD;
  return WAITING;
}

function isWord(c: number): boolean {
  return c !== BACKTICK && c !== TILDE && c !== LT;
}
