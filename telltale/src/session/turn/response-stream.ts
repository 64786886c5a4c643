import { asText } from '../../conditions/as-text.ts';
import type { ReferencePiece } from '../../conditions/references/reference.ts';
import { createReferenceReader, type ReferenceReader } from '../../conditions/references/reference-reader.ts';
import type { Scheduler } from '../../scheduler/scheduler.ts';

type Resolving = Pick<Scheduler, 'resolve' | 'whenEnded'>;

/**
 * One `<response>`: its text goes out as it comes; at a `$name` whose action is still running it waits there, while
 * reading goes on. What values are put in is never read as tags or references. A record and functions: as closures it
 * took five times as much of a session that is being answered.
 */
export interface ResponseStream {
  readonly scheduler: Resolving;
  readonly emit: (text: string) => void;
  /** What has gone out. */
  text: string;
  /** What the model wrote. */
  source: string;
  /** Made at the first dollar: most responses have none. */
  reader: ReferenceReader | undefined;
  queue: ReferencePiece[];
  at: number;
  /** Whether what comes next waits. */
  held: boolean;
  ended: boolean;
  waiting: (() => void)[];
}

/** `after` is the response before it in the turn: what it waits for is waited for here, too, so that they go out in order. */
export function createResponseStream(
  scheduler: Resolving,
  emit: (text: string) => void,
  after?: ResponseStream,
): ResponseStream {
  const stream: ResponseStream = {
    ...{ scheduler, emit, text: '', source: '', reader: undefined, queue: [], at: 0 },
    ...{ held: after !== undefined, ended: false, waiting: [] },
  };
  if (after !== undefined) whenOut(after, () => goOn(stream));
  return stream;
}

export function pushResponse(stream: ResponseStream, text: string): void {
  stream.source += text;
  // Most pieces hold no dollar and nothing waits: they go straight out.
  if (!stream.held && stream.queue.length === 0 && stream.reader?.isIdle() !== false && !text.includes('$')) {
    out(stream, text);
    return;
  }
  stream.reader ??= createReferenceReader();
  take(stream, stream.reader.push(text));
}

export function endResponse(stream: ResponseStream): void {
  if (stream.ended) return;
  stream.ended = true;
  take(stream, stream.reader?.end() ?? []);
}

/** Calls back once all of it has gone out; at once if it has. */
export function whenOut(stream: ResponseStream, then: () => void): void {
  if (stream.ended && !stream.held && stream.queue.length === 0) then();
  else stream.waiting.push(then);
}

function out(stream: ResponseStream, text: string): void {
  if (text === '') return;
  stream.text += text;
  stream.emit(text);
}

/** Whether the piece has gone out; otherwise its action is waited for. */
function put(stream: ResponseStream, piece: ReferencePiece): boolean {
  if (piece.kind === 'text') out(stream, piece.text);
  else if (piece.kind === 'dollar') out(stream, '$');
  else {
    const { scheduler } = stream;
    const found = scheduler.resolve(piece.source);
    if (found.state === 'pending') {
      stream.held = true;
      scheduler.whenEnded([found.id], () => goOn(stream));
      return false;
    }
    if (found.state === 'value') out(stream, asText(found.value) + found.rest);
    else if (found.state === 'failed')
      out(stream, `[unavailable: ${found.id}: ${found.error.message}]${found.rest}`);
    else out(stream, piece.source);
  }
  return true;
}

function drain(stream: ResponseStream): void {
  const { queue } = stream;
  for (let piece = queue[stream.at]; piece !== undefined && put(stream, piece); piece = queue[stream.at])
    stream.at++;
  if (stream.at < queue.length) return;
  queue.length = 0;
  stream.at = 0;
  if (!stream.ended) return;
  for (const then of stream.waiting.splice(0)) then();
}

function goOn(stream: ResponseStream): void {
  stream.held = false;
  drain(stream);
}

function take(stream: ResponseStream, pieces: readonly ReferencePiece[]): void {
  stream.queue.push(...pieces);
  if (!stream.held) drain(stream);
}
