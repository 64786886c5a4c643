import {
  createReferenceReader,
  type Reference,
  type ReferencePiece,
} from '../../expressions/references/reference.ts';
import { asText } from '../../expressions/values.ts';
import type { Json } from '../../lib/json.ts';
import { extendText } from '../../lib/text.ts';
import { writtenId } from '../../log/action.ts';
import { createMarkdown, isCalm, type Markdown, PROSE, stepMarkdown } from '../../parser/tags/markdown.ts';
import type { ActionScheduler } from '../../scheduler/action-scheduler.ts';
import type { SessionLog } from '../session-log.ts';

type LiveOutput = Pick<SessionLog, 'state' | 'watched' | 'show'>;

type ReferenceResolver = Pick<ActionScheduler, 'resolveReference' | 'whenAllEnded'>;

/**
 * One `<response>`: its text goes out as it comes; at a `$name` whose action is still running it waits there, while
 * reading goes on. What values are put in is never read as tags or references. A record and functions: as closures it
 * took five times as much of a session that is being answered.
 */
export interface ResponseStream {
  readonly scheduler: ReferenceResolver;
  /** Where what goes out is shown; nowhere, if undefined. */
  readonly log: LiveOutput | undefined;
  /** Whether it is meant to end the session, as far as its opening says. */
  readonly final: boolean;
  /** Where what has gone out ends, if it is to be JSON. */
  readonly place: JsonPosition | undefined;
  /** What has gone out. */
  text: string;
  /** What the model wrote, once that may differ from what has gone out: `sourceOf` has it. */
  source: string | undefined;
  /** Made at the first dollar: most responses have none. */
  reader: ResponseReader | undefined;
  queue: ReferencePiece[];
  at: number;
  /** Whether what comes next waits. */
  held: boolean;
  /** Whether it waits for nobody any more: `waitNoMore`. */
  patient: boolean;
  ended: boolean;
  waiting: (() => void)[];
}

/**
 * `toJson`: the agent's result is to be JSON. `after` is the response before it in the turn: what it waits for is waited
 * for here, too, so that they go out in order.
 */
export function createResponseStream(
  scheduler: ReferenceResolver,
  log: LiveOutput | undefined,
  final: boolean,
  toJson: boolean,
  after?: ResponseStream,
): ResponseStream {
  const stream: ResponseStream = {
    scheduler,
    log,
    final,
    place: toJson ? beforeJson() : undefined,
    text: '',
    source: undefined,
    reader: undefined,
    queue: [],
    at: 0,
    held: after !== undefined,
    patient: true,
    ended: false,
    waiting: [],
  };
  if (after !== undefined) whenComplete(after, () => resumeOutput(stream));
  return stream;
}

export function pushResponse(stream: ResponseStream, text: string): void {
  // Most responses hold no dollar and wait for nothing: their text goes straight out.
  if (stream.reader === undefined && !stream.held && !text.includes('$')) {
    emitText(stream, text);
    return;
  }
  const before = sourceOf(stream);
  stream.reader ??= new ResponseReader(stream.place !== undefined, before);
  stream.source = before + text;
  enqueuePieces(stream, stream.reader.push(text));
}

/** What the model wrote. */
export const sourceOf = ({ source, text }: ResponseStream): string => source ?? text;

export function endResponse(stream: ResponseStream): void {
  if (stream.ended) return;
  stream.ended = true;
  enqueuePieces(stream, stream.reader?.end() ?? []);
}

/** Calls back once all of it has gone out; at once if it has. */
export function whenComplete(stream: ResponseStream, then: () => void): void {
  if (isComplete(stream)) then();
  else stream.waiting.push(then);
}

/** A person decides on what it waits for, and somebody has a word for the agent first: the rest goes out without it. */
export function stopWaiting(stream: ResponseStream): void {
  if (!stream.patient) return;
  stream.patient = false;
  if (stream.queue.length > 0) resumeOutput(stream);
}

export const isComplete = ({ ended, held, queue }: ResponseStream): boolean =>
  ended && !held && queue.length === 0;

function emit(stream: ResponseStream, text: string): void {
  if (text === '') return;
  stream.text = extendText(stream.text, text);
  const { log, final } = stream;
  if (log?.watched !== true) return;
  const { id: session, turn } = log.state;
  log.show({ type: 'response.delta', session, turn, text, final });
}

/** What the model wrote itself. */
function emitText(stream: ResponseStream, text: string): void {
  if (stream.place !== undefined) advancePosition(stream.place, text);
  emit(stream, text);
}

/** What stands in the place of a reference, and what of its text was no part of it. */
function emitValue(stream: ResponseStream, value: Json, rest: string): void {
  emit(stream, stream.place === undefined ? asText(value) : asJsonAt(stream.place, value));
  emitText(stream, rest);
}

const UNDECIDED = 'it waits for a person to decide.';

/** Whether the piece has gone out; otherwise its action is waited for. */
function emitPiece(stream: ResponseStream, piece: ReferencePiece): boolean {
  if (piece.kind === 'text') emitText(stream, piece.text);
  else if (piece.kind === 'escaped') {
    const isKnown = stream.scheduler.resolveReference(`$${piece.name}`).state !== 'unknown';
    emitText(stream, isKnown ? piece.source : `$${piece.source}`);
  } else {
    const { scheduler } = stream;
    const found = scheduler.resolveReference(piece.source);
    if (found.state === 'pending' && !stream.patient)
      emitValue(stream, `[unavailable: ${writtenId(found.id)}: ${UNDECIDED}]`, found.rest);
    else if (found.state === 'pending') {
      stream.held = true;
      scheduler.whenAllEnded([found.id], () => resumeOutput(stream));
      return false;
    } else if (found.state === 'value') emitValue(stream, found.value, found.rest);
    else if (found.state === 'failed')
      emitValue(stream, `[unavailable: ${writtenId(found.id)}: ${found.error.message}]`, found.rest);
    else emitText(stream, piece.source);
  }
  return true;
}

function drain(stream: ResponseStream): void {
  for (let piece = next(stream); piece !== undefined && emitPiece(stream, piece); piece = next(stream))
    stream.at++;
  if (stream.at < stream.queue.length) return;
  stream.queue = [];
  stream.at = 0;
  if (!stream.ended) return;
  const { waiting } = stream;
  stream.waiting = [];
  for (const then of waiting) then();
}

const next = ({ queue, at }: ResponseStream): ReferencePiece | undefined => queue[at];

function resumeOutput(stream: ResponseStream): void {
  stream.held = false;
  drain(stream);
}

function enqueuePieces(stream: ResponseStream, pieces: readonly ReferencePiece[]): void {
  for (const piece of pieces) stream.queue.push(piece);
  if (!stream.held) drain(stream);
}

/**
 * Where in a JSON text its writer stands. What is put in there, the result of a tool perhaps, must become part of one
 * value: whatever it holds, it ends no string and adds no key.
 */
export interface JsonPosition {
  /** Whether the text began as JSON does, or in a fence; undefined before its first character. */
  isJson: boolean | undefined;
  inString: boolean;
  isEscaped: boolean;
}

const beforeJson = (): JsonPosition => ({ isJson: undefined, inString: false, isEscaped: false });

const FIRST = '{["`';

/** Reads on in what the model wrote. */
function advancePosition(place: JsonPosition, text: string): void {
  if (place.isJson === undefined) {
    const first = /\S/.exec(text)?.[0];
    if (first === undefined) return;
    place.isJson = FIRST.includes(first);
  }
  if (!place.isJson) return;
  for (const char of text) {
    if (place.isEscaped) place.isEscaped = false;
    else if (char === '"') place.inString = !place.inString;
    else place.isEscaped = place.inString && char === '\\';
  }
}

/** A value as it stands there: in a string its text, escaped; elsewhere a value of its own. */
function asJsonAt(place: JsonPosition, value: Json): string {
  const text = asText(value);
  place.isJson ??= false; // a value alone is what it is
  if (!place.isJson) return text;
  if (place.inString) return JSON.stringify(text).slice(1, -1);
  return typeof value !== 'string' || isOneValue(text) ? text : JSON.stringify(text);
}

/** What a command prints is text, and may be JSON for all that. */
function isOneValue(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const DOLLAR = 36;
/** In calm text, nothing else can begin code or a reference. */
const NEXT = /[\n`$]/g;

/**
 * Reads the references of a response as it streams. What code is, inline or in a fence, is decided as the parser of tags
 * decides it; in code a dollar is only a dollar. A response that is to be JSON is no Markdown: there every `$name` counts.
 */
export class ResponseReader {
  readonly #references = createReferenceReader();
  readonly #markdown: Markdown | undefined;

  /** `before`: what the response holds already, none of which is a reference. */
  constructor(isJson: boolean, before = '') {
    this.#markdown = isJson ? undefined : createMarkdown();
    this.push(before);
  }

  push(text: string): ReferencePiece[] {
    const markdown = this.#markdown;
    if (markdown === undefined) return this.#references.push(text);
    const pieces: ReferencePiece[] = [];
    let from = 0;
    for (let at = 0; at < text.length; at++) {
      if (isCalm(markdown)) {
        NEXT.lastIndex = at;
        const next = NEXT.exec(text);
        if (next === null) break;
        at = next.index;
      }
      const char = text.charCodeAt(at);
      stepMarkdown(markdown, char);
      if (char !== DOLLAR || markdown.code === PROSE) continue;
      pieces.push(...this.#references.push(text.slice(from, at)), ...this.#references.end());
      pieces.push({ kind: 'text', text: '$' });
      from = at + 1;
    }
    pieces.push(...this.#references.push(text.slice(from)));
    return pieces;
  }

  end(): ReferencePiece[] {
    return this.#references.end();
  }
}

/** What a whole response refers to. */
export function referencesInResponse(text: string, isJson: boolean): readonly Reference[] {
  const reader = new ResponseReader(isJson);
  return [...reader.push(text), ...reader.end()].filter((piece) => piece.kind === 'reference');
}
