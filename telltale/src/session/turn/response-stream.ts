import { asText } from '../../conditions/as-text.ts';
import type { ReferencePiece } from '../../conditions/references/reference.ts';
import { createReferenceReader } from '../../conditions/references/reference-reader.ts';
import type { Scheduler } from '../../scheduler/scheduler.ts';

/**
 * One `<response>`: its text goes out as it comes; at a `$name` whose action is still running it waits there, while
 * reading goes on. What values are put in is never read as tags or references.
 */
export interface ResponseStream {
  push(text: string): void;
  end(): void;
  /** What has gone out. */
  text(): string;
  /** What the model wrote. */
  source(): string;
  /** Calls back once all of it has gone out; at once if it has. */
  whenOut(then: () => void): void;
}

/** `after` is the response before it in the turn: what it waits for is waited for here, too, so that they go out in order. */
export function createResponseStream(
  scheduler: Pick<Scheduler, 'resolve' | 'whenEnded'>,
  emit: (text: string) => void,
  after?: ResponseStream,
): ResponseStream {
  const reader = createReferenceReader();
  const queue: ReferencePiece[] = [];
  const waiting: (() => void)[] = [];
  let at = 0;
  let held = after !== undefined;
  let ended = false;
  const stream = { text: '', source: '' };

  const out = (text: string) => {
    if (text === '') return;
    stream.text += text;
    emit(text);
  };

  /** Whether the piece has gone out; otherwise its action is waited for. */
  const put = (piece: ReferencePiece): boolean => {
    if (piece.kind === 'text') out(piece.text);
    else if (piece.kind === 'dollar') out('$');
    else {
      const found = scheduler.resolve(piece.source);
      if (found.state === 'pending') {
        held = true;
        scheduler.whenEnded([found.id], goOn);
        return false;
      }
      if (found.state === 'value') out(asText(found.value) + found.rest);
      else if (found.state === 'failed')
        out(`[unavailable: ${found.id}: ${found.error.message}]${found.rest}`);
      else out(piece.source);
    }
    return true;
  };

  const drain = () => {
    for (let piece = queue[at]; piece !== undefined && put(piece); piece = queue[at]) at++;
    if (at < queue.length) return;
    queue.length = 0;
    at = 0;
    if (!ended) return;
    for (const then of waiting.splice(0)) then();
  };

  const goOn = () => {
    held = false;
    drain();
  };

  const take = (pieces: readonly ReferencePiece[]) => {
    queue.push(...pieces);
    if (!held) drain();
  };

  after?.whenOut(goOn);

  return {
    push(text) {
      stream.source += text;
      // Most pieces hold no dollar and nothing waits: they go straight out.
      if (!held && queue.length === 0 && reader.isIdle() && !text.includes('$')) out(text);
      else take(reader.push(text));
    },
    end() {
      if (ended) return;
      ended = true;
      take(reader.end());
    },
    text: () => stream.text,
    source: () => stream.source,
    whenOut(then) {
      if (ended && !held && queue.length === 0) then();
      else waiting.push(then);
    },
  };
}
