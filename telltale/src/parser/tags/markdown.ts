import {
  BACKTICK,
  CLOSE_PAREN,
  DOT,
  type ElementName,
  GT,
  isSpace,
  LF,
  LT,
  MINUS,
  NINE,
  PLUS,
  STAR,
  TILDE,
  ZERO,
} from './names.ts';
import { COMPLETE, createTagScan, PENDING, startTag, stepTag, type TagScan } from './tag-scan.ts';

// What the line holds so far.
export const LINE_BLANK = 0;
/** White space, `>` and list marks. */
const LINE_PREFIX = 1;
const LINE_DIGITS = 2;
/** A list mark that still needs its white space. */
const LINE_MARK = 3;
const LINE_TEXT = 4;

// Where the text stands.
export const PROSE = 0;
/** After a run of backticks (or tildes) that is not closed yet, on its own line. */
export const SPAN = 1;
export const BLOCK = 2;

// What a block's line may still be: the one that closes it.
const CLOSER_START = 0;
const CLOSER_RUN = 1;
const CLOSER_AFTER = 2;
const CLOSER_NO = 3;

const FENCE = 3;

/** Which text is code: rule 2.3 of the protocol as a machine that is given every character of prose once. */
export interface Markdown {
  line: number;
  code: number;
  /** The character and length of the run that opened the code. */
  fence: number;
  fenceLength: number;
  /** The run of backticks or tildes being read. */
  run: number;
  runChar: number;
  closer: number;
  /** The innermost open element: opening tags of its name inside a fence keep its closing tag from counting. */
  watched: ElementName | undefined;
  unclosed: number;
  /** What reads them, made for the first. */
  shadow: TagScan | undefined;
  shadowing: boolean;
}

export function createMarkdown(): Markdown {
  return {
    line: LINE_BLANK,
    code: PROSE,
    fence: 0,
    fenceLength: 0,
    run: 0,
    runChar: 0,
    closer: CLOSER_START,
    watched: undefined,
    unclosed: 0,
    shadow: undefined,
    shadowing: false,
  };
}

/** As it was before the first character. */
export function renewMarkdown(md: Markdown): void {
  restartLine(md);
  md.fence = 0;
  md.fenceLength = 0;
  md.runChar = 0;
  md.closer = CLOSER_START;
  md.watched = undefined;
  md.unclosed = 0;
  md.shadowing = false;
}

/** A tag that counts ends all code and begins a new line. */
export function restartLine(md: Markdown): void {
  md.line = LINE_BLANK;
  md.code = PROSE;
  md.run = 0;
}

/** No character but LF, a backtick and `<` can change anything: the caller may skip to the next of them. */
export function isCalm(md: Markdown): boolean {
  if (md.shadowing) return false;
  return md.code === BLOCK ? md.closer === CLOSER_NO : md.line === LINE_TEXT && md.run === 0;
}

/** A line break where the text is calm, in prose or in a block. */
export function enterLine(md: Markdown): void {
  md.line = LINE_BLANK;
  md.closer = CLOSER_START;
  md.run = 0;
}

/** A line in a block that is, so far, the block's closing run with nothing after it. */
export function isStraightAfterClosingRun(md: Markdown): boolean {
  return md.code === BLOCK && md.closer === CLOSER_RUN && md.run >= md.fenceLength;
}

/** Ends the run being read, as any other character does. In a block the run belongs to the closing line. */
export function endRun(md: Markdown): void {
  if (md.run === 0 || md.code === BLOCK) return;
  const { run, runChar } = md;
  md.run = 0;
  md.line = LINE_TEXT;
  if (md.code === SPAN) {
    if (run === md.fenceLength) leaveCode(md);
  } else if (runChar === BACKTICK || run >= FENCE) {
    md.code = SPAN;
    md.fence = runChar;
    md.fenceLength = run;
    md.unclosed = 0;
    md.shadowing = false;
  }
}

/** At the end of the stream the last line ends. Says whether a block is left open. */
export function endText(md: Markdown): boolean {
  endRun(md);
  endLine(md);
  return md.code === BLOCK;
}

export function stepMarkdown(md: Markdown, c: number): void {
  if (md.code === BLOCK) stepBlock(md, c);
  else if (md.code === SPAN) stepSpan(md, c);
  else stepProse(md, c);
}

function stepProse(md: Markdown, c: number): void {
  if (c === BACKTICK || (c === TILDE && (md.line <= LINE_PREFIX || (md.run > 0 && md.runChar === TILDE)))) {
    if (md.run > 0 && md.runChar !== c) {
      endRun(md);
      stepMarkdown(md, c);
      return;
    }
    md.run++;
    md.runChar = c;
    return;
  }
  if (md.run > 0) {
    endRun(md);
    stepMarkdown(md, c);
    return;
  }
  md.line = nextLine(md.line, c);
}

function nextLine(line: number, c: number): number {
  if (c === LF) return LINE_BLANK;
  if (line === LINE_TEXT) return LINE_TEXT;
  if (isSpace(c)) return line === LINE_MARK ? LINE_PREFIX : line === LINE_DIGITS ? LINE_TEXT : line;
  if (c >= ZERO && c <= NINE) return line === LINE_MARK ? LINE_TEXT : LINE_DIGITS;
  if (line === LINE_DIGITS) return c === DOT || c === CLOSE_PAREN ? LINE_MARK : LINE_TEXT;
  if (line === LINE_MARK) return LINE_TEXT;
  if (c === GT) return LINE_PREFIX;
  return c === MINUS || c === STAR || c === PLUS ? LINE_MARK : LINE_TEXT;
}

function stepSpan(md: Markdown, c: number): void {
  if (c === BACKTICK && md.fence === BACKTICK) {
    md.run++;
    md.runChar = c;
    watch(md, c);
    return;
  }
  endRun(md);
  if (md.code !== SPAN) {
    stepProse(md, c);
    return;
  }
  watch(md, c);
  if (c === LF) endLine(md);
}

/** The end of a line of prose or of an open run; a run of three or more goes on as a block. */
function endLine(md: Markdown): void {
  if (md.code === SPAN) {
    if (md.fenceLength >= FENCE) {
      md.code = BLOCK;
      md.closer = CLOSER_START;
    } else leaveCode(md);
  } else if (md.code === BLOCK) {
    const closed = md.closer === CLOSER_AFTER || isStraightAfterClosingRun(md);
    if (closed) leaveCode(md);
    md.closer = CLOSER_START;
  }
  md.line = LINE_BLANK;
  md.run = 0;
}

function stepBlock(md: Markdown, c: number): void {
  watch(md, c);
  if (c === LF) {
    endLine(md);
    return;
  }
  const space = isSpace(c);
  if (!space) md.line = LINE_TEXT;
  if (c === md.fence && (md.closer === CLOSER_START || md.closer === CLOSER_RUN)) {
    md.closer = CLOSER_RUN;
    md.run++;
    return;
  }
  if (!space && c !== GT) md.closer = CLOSER_NO;
  else if (md.closer === CLOSER_RUN) md.closer = md.run >= md.fenceLength ? CLOSER_AFTER : CLOSER_NO;
}

function leaveCode(md: Markdown): void {
  md.code = PROSE;
  md.shadowing = false;
}

/** Counts the opening tags of the watched name that a fence holds, less the closing ones. */
function watch(md: Markdown, c: number): void {
  if (md.watched === undefined || md.fenceLength < FENCE) return;
  md.shadow ??= createTagScan();
  const { shadow } = md;
  if (!md.shadowing) {
    if (c === LT) {
      startTag(shadow);
      md.shadowing = true;
    }
    return;
  }
  const verdict = stepTag(shadow, c);
  if (verdict === PENDING) return;
  md.shadowing = false;
  if (verdict === COMPLETE) {
    if (shadow.name !== md.watched) return;
    if (shadow.closing) md.unclosed = Math.max(0, md.unclosed - 1);
    else if (!shadow.selfClosing) md.unclosed++;
  } else if (c === LT) watch(md, c);
}
