import type { EarlierIds } from '../envelope/ids.ts';
import type { ParserEvent, Place } from '../intents.ts';
import { emit, holdsNothing, takeEvents, textEvent } from '../prose/output.ts';
import { DEFAULT_MAX_BODY, pushedAfterEnd, type TurnParser } from '../turn-parser.ts';
import { hasName, type ReadTag } from './action-intent.ts';
import {
  BROKEN_BY_CLOSE,
  BROKEN_BY_TAG,
  bodyText,
  endsInStringTail,
  goesOn,
  isBetweenTags,
  keepCandidate,
  READING,
  scanBody,
  startBody,
  strictValue,
} from './body.ts';
import { bodyTooLarge, noBody, truncatedBody } from './faults.ts';
import { endText, isCalm } from './markdown.ts';
import type { BodyTag } from './names.ts';
import { passes, readText } from './read-prose.ts';
import {
  aboutTag,
  beginBody,
  beginClosing,
  breakBody,
  closeFromCode,
  cutEmpty,
  endBody,
  finishTurn,
  readEmpty,
  readTag,
  readTail,
} from './read-tag.ts';
import {
  BEGINS,
  BODY,
  bodyOf,
  counted,
  createReader,
  EMPTY,
  forgetActions,
  MAY_CLOSE,
  type Outlook,
  PRELUDE,
  preludeOf,
  type Reader,
  release,
  renewReader,
  stepPrelude,
  TAG,
  TAIL,
  TEXT,
  WAITING,
} from './reader-state.ts';
import { keepScan } from './tag-scan.ts';

/** A long push is read in parts, so that a search for a mark that is far away is not made again and again. */
const WINDOW = 1024;

/** Reads on and returns the events. `consumed` is how far those before it went. */
function read(r: Reader, chunk: string, consumed: number): ParserEvent[] {
  if (r.outlook === 'ended') throw pushedAfterEnd();
  const at = catchUp(r, consumed);
  r.length = at + chunk.length;
  if (chunk.length <= WINDOW) feed(r, chunk, at);
  else for (let i = 0; i < chunk.length; i += WINDOW) feed(r, chunk.slice(i, i + WINDOW), at + i);
  r.outlook = lookAhead(r);
  return takeEvents(r.output);
}

/** Counts the chunks that were taken at a glance since the last one that was read; returns where the next begins. */
function catchUp(r: Reader, consumed: number): number {
  if (r.outlook === 'calm prose') r.length = consumed;
  else if (r.outlook === 'calm body') r.length = r.bodyFrom + bodyOf(r).length;
  r.output.consumed = consumed;
  return r.length;
}

function lookAhead(r: Reader): Outlook {
  const { mode } = r;
  if (mode === BODY) {
    const body = bodyOf(r);
    r.bodyFrom = r.length - body.length;
    return isBetweenTags(body) ? 'calm body' : 'unknown';
  }
  if (mode === TAG) keepScan(r.scan);
  return mode === TEXT && isCalm(r.md) && holdsNothing(r.output) ? 'calm prose' : 'unknown';
}

function endStream(r: Reader, consumed: number): ParserEvent[] {
  const { mode, turn } = r;
  const length = catchUp(r, consumed);
  r.outlook = 'ended';
  if (mode === TAG) release(r, r.held, length, 0);
  else if (mode === TAIL) closeFromCode(r, length);
  else if (mode === PRELUDE) release(r, r.held, length, 0, noBody(r.tag?.name as BodyTag));
  else if (mode === BODY) cutBody(r, length);
  else if (mode === EMPTY) cutEmpty(r, length);
  finishTurn(turn, endText(r.md), length);
  return takeEvents(r.output);
}

function feed(r: Reader, chunk: string, at: number): void {
  const outer = r.offset;
  r.offset = at;
  for (let i = 0; i < chunk.length; ) {
    if (r.mode === TEXT) i = readText(r, chunk, i);
    else if (r.mode === BODY || r.mode === EMPTY) {
      i = r.mode === BODY ? readBody(r, chunk, i) : readEmpty(r, chunk, i);
      if (r.again !== '') readAgain(r, at + i);
    } else if (r.mode === TAG) i = readTag(r, chunk, i);
    else if (r.mode === PRELUDE) i = readPrelude(r, chunk, i);
    else i = readTail(r, chunk, i);
  }
  r.offset = outer;
}

/** A tag, or a part of one, that ended at `at` is read once more as what it is. */
function readAgain(r: Reader, at: number): void {
  const { again } = r;
  r.again = '';
  feed(r, again, at - again.length);
}

function readPrelude(r: Reader, chunk: string, from: number): number {
  const prelude = preludeOf(r);
  for (let i = from; i < chunk.length; i++) {
    const verdict = stepPrelude(prelude, chunk.charCodeAt(i));
    if (verdict === WAITING) continue;
    const { held, tagLength } = r;
    const name = r.tag?.name as BodyTag;
    if (verdict === MAY_CLOSE && mayBeEmpty(r)) {
      r.held += chunk.slice(from, i);
      beginClosing(r);
      return i + 1;
    }
    if (verdict !== BEGINS) return release(r, held + chunk.slice(from, i), r.offset + i, i, noBody(name));
    beginBody(r.turn, r.offset + from - held.length);
    counted(r);
    r.mode = BODY;
    r.saidTooLarge = false;
    // Not cut off the tag and all that follows it: what is joined has to be copied to be cut.
    const space = chunk.slice(from, i);
    startBody(bodyOf(r), name, held.length === tagLength ? space : held.slice(tagLength) + space);
    return i;
  }
  r.held += chunk.slice(from);
  return chunk.length;
}

const mayBeEmpty = ({ tag }: Reader): boolean => tag?.name === 'action' && hasName(tag.attributes);

function readBody(r: Reader, chunk: string, from: number): number {
  const body = bodyOf(r);
  const next = scanBody(body, chunk, from);
  if (body.tooLarge) sayTooLarge(r, r.offset + next);
  if (body.state !== READING) leaveBody(r, r.offset + next);
  return next;
}

function sayTooLarge(r: Reader, at: number): void {
  if (r.saidTooLarge) return;
  r.saidTooLarge = true;
  emit(r.output, aboutTag(r.tag as ReadTag, bodyTooLarge(bodyOf(r).tag, r.maxBody)), at);
}

/** The stream ended in a body. */
function cutBody(r: Reader, at: number): void {
  const body = bodyOf(r);
  if (endsInStringTail(body)) {
    breakBody(r.turn, r.tag as ReadTag, body.tooLarge, at);
    return;
  }
  keepCandidate(body);
  if (body.tooLarge) sayTooLarge(r, at);
  else emit(r.output, aboutTag(r.tag as ReadTag, truncatedBody(body.tag)), at);
}

function leaveBody(r: Reader, at: number): void {
  const { turn } = r;
  const body = bodyOf(r);
  const { candidate } = body;
  const tag = r.tag as ReadTag;
  counted(r);
  if (body.state === BROKEN_BY_TAG) {
    breakBody(turn, tag, body.tooLarge, at - candidate.length);
    r.again = candidate;
  } else if (body.state === BROKEN_BY_CLOSE) {
    const space = candidate.slice(candidate.indexOf('>') + 1);
    breakBody(turn, tag, body.tooLarge, at - space.length);
    if (space !== '') release(r, space, at, 0);
  } else if (!body.tooLarge) endBody(turn, tag, bodyText(body), strictValue(body), at);
}

export interface TagParserOptions {
  /** The most characters a body may have between its tags; 1 MiB by default. */
  readonly max_body?: number;
  /** Where actions, metadata and control tags count; outside and in thoughts by default. */
  readonly actions_in?: readonly Place[];
  /** The session's seal: with it, a tag that acts must carry `key="…"`. */
  readonly key?: string;
  /** The ids taken in the session so far; the parser adds to it. */
  readonly ids?: Set<string>;
}

export interface TagParser extends TurnParser {
  /** Begins with another turn of the same session: ids that were taken stay taken. A new parser is 3 KB. */
  renew(): void;
  /** Whether the rest of the turn may be quotation, as far as it was read. */
  inDoubt(): boolean;
}

const DEFAULT_ACTIONS_IN: readonly Place[] = ['outside', 'thought'];

/**
 * A parser whose methods can be taken off it. Its `push` is written out once more: where it reads constants of its own, and
 * no record, a chunk of 4 characters takes 0.9 to 0.95 times the time.
 */
export function createTagParser(options: TagParserOptions = {}): TagParser {
  const reader = readerFor(options);
  const { output } = reader;
  const body = bodyOf(reader);
  // A getter for `consumed` would give each parser a shape of its own, and every caller a slow `push`.
  const parser = {
    consumed: 0,
    push(chunk: string): ParserEvent[] {
      if (reader.outlook === 'calm body') {
        if (goesOn(body, chunk)) return [];
      } else if (reader.outlook === 'calm prose' && passes(chunk)) {
        parser.consumed += chunk.length;
        return [textEvent(output.place, chunk)];
      }
      return readClosely(parser, reader, chunk);
    },
    end: () => finish(parser, reader),
    renew: () => begin(parser, reader),
    inDoubt: () => reader.turn.doubt,
  };
  return parser;
}

export interface SharedParserOptions extends Omit<TagParserOptions, 'key'> {
  readonly key?: string | undefined;
  /** Ids of earlier turns, which may be taken again: then `ids` are those of one turn. */
  readonly earlier?: EarlierIds;
}

/** A parser for each session: its methods must be called on it. */
export const createSharedTagParser = (options: SharedParserOptions): TagParser =>
  new SessionTagParser(options);

class SessionTagParser implements TagParser {
  consumed = 0;
  readonly #reader: Reader;

  constructor(options: SharedParserOptions) {
    this.#reader = readerFor(options);
  }

  push(chunk: string): ParserEvent[] {
    const reader = this.#reader;
    // What most chunks are comes first, and touches no record that lives as long as the turn but the counters: what
    // is stored there costs the collector's book-keeping.
    if (reader.outlook === 'calm body') {
      if (goesOn(bodyOf(reader), chunk)) return [];
    } else if (reader.outlook === 'calm prose' && passes(chunk)) {
      this.consumed += chunk.length;
      return [textEvent(reader.output.place, chunk)];
    }
    return readClosely(this, reader, chunk);
  }

  end(): ParserEvent[] {
    return finish(this, this.#reader);
  }

  renew(): void {
    begin(this, this.#reader);
    forgetActions(this.#reader);
  }

  inDoubt(): boolean {
    return this.#reader.turn.doubt;
  }
}

const readerFor = (options: SharedParserOptions): Reader =>
  createReader({
    maxBody: options.max_body ?? DEFAULT_MAX_BODY,
    actionsIn: options.actions_in ?? DEFAULT_ACTIONS_IN,
    key: options.key,
    ids: options.ids ?? new Set(),
    earlier: options.earlier,
  });

interface TagParserCounter {
  consumed: number;
}

/** Apart from `push`, so that what most chunks need is small enough to become part of the caller's loop. */
function readClosely(parser: TagParserCounter, reader: Reader, chunk: string): ParserEvent[] {
  const events = read(reader, chunk, parser.consumed);
  parser.consumed = reader.output.consumed;
  return events;
}

function finish(parser: TagParserCounter, reader: Reader): ParserEvent[] {
  if (reader.outlook === 'ended') return [];
  const events = endStream(reader, parser.consumed);
  parser.consumed = reader.output.consumed;
  return events;
}

function begin(parser: TagParserCounter, reader: Reader): void {
  renewReader(reader);
  parser.consumed = 0;
}
