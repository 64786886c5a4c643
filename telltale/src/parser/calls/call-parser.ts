import { FRAME_BREAK, FRAME_MARK, readFrameHead, type ToolCall } from '../../lib/calls.ts';
import type { ParserEvent } from '../intents.ts';
import { emit, endPair, endRun, newRun, type ProseOutput, putText, takeEvents } from '../prose/output.ts';
import { pushedAfterEnd, type TurnParser } from '../turn-parser.ts';

/** Reads one turn with native calls (lib/calls.ts). */
export interface CallParser extends TurnParser {
  /**
   * Reads on from `from`, at most to behind what closes next: a call, or a part of one that acts by itself. Returns how
   * far it came; `take` gives the events. So nothing is read behind an intent before it has been acted on.
   */
  advance(chunk: string, from: number): number;
  take(): ParserEvent[];
  /** Ids that were given out in this turn. */
  readonly given: readonly string[];
  /** How many calls were opened and closed in it, and which was the last. */
  readonly closed: number;
  readonly call: CallHead;
}

export type CallHead = Pick<ToolCall, 'id' | 'name'>;

/** What a dialect makes of calls. Offsets count from the turn's start. */
export interface CallListener {
  readonly output: ProseOutput;
  open(call: CallHead): void;
  /** `chunk` from `from` to `to` is input; `at` is the offset of `from`. Returns how far it was read. */
  input(chunk: string, from: number, to: number, at: number): number;
  close(at: number): void;
  /** The stream ended inside the call. */
  breakOff(at: number): void;
}

type Mode = 'prose' | 'head' | 'input' | 'tail';

/** Heads are a provider's id and the name of a tool: of longer ones the end is not kept. */
const MAX_HEAD = 4096;

export function createCallParser(listener: CallListener, given: readonly string[]): CallParser {
  const { output } = listener;
  let mode: Mode = 'prose';
  let head = '';
  let length = 0;
  let ended = false;

  const advance = (chunk: string, from: number): number => {
    const offset = length - from;
    let at = from;
    while (at < chunk.length) {
      if (mode === 'prose') {
        const mark = chunk.indexOf(FRAME_MARK, at);
        const end = mark === -1 ? chunk.length : mark;
        if (end > at) {
          putText(output, chunk.slice(at, end), offset + end);
          return read(offset, end);
        }
        at++;
        head = '';
        mode = 'head';
      } else if (mode === 'head') {
        const end = chunk.indexOf(FRAME_BREAK, at);
        const stop = end === -1 ? chunk.length : end;
        head += chunk.slice(at, Math.min(stop, at + MAX_HEAD - head.length));
        if (end === -1) return read(offset, chunk.length);
        at = end + 1;
        parser.call = readFrameHead(head);
        endRun(output, false, offset + at);
        mode = 'input';
        listener.open(parser.call);
      } else if (mode === 'input') {
        const mark = chunk.indexOf(FRAME_MARK, at);
        const end = mark === -1 ? chunk.length : mark;
        if (end > at) {
          const to = listener.input(chunk, at, end, offset + at);
          if (to < end || mark === -1) return read(offset, to);
          at = to;
        }
        at++;
        mode = 'tail';
      } else {
        const end = chunk.indexOf(FRAME_BREAK, at);
        if (end === -1) return read(offset, chunk.length);
        at = end + 1;
        mode = 'prose';
        parser.closed++;
        listener.close(offset + at);
        newRun(output, 'outside', false);
        return read(offset, at);
      }
    }
    return read(offset, at);
  };

  const read = (offset: number, at: number): number => {
    length = offset + at;
    parser.consumed = output.consumed;
    return at;
  };

  const parser = {
    consumed: 0,
    closed: 0,
    call: { id: '', name: '' } as CallHead,
    given,
    advance,
    take: (): ParserEvent[] => takeEvents(output),
    push(chunk: string): ParserEvent[] {
      if (ended) throw pushedAfterEnd();
      for (let at = 0; at < chunk.length; ) at = advance(chunk, at);
      return takeEvents(output);
    },
    end(): ParserEvent[] {
      if (ended) return [];
      ended = true;
      endPair(output, length);
      endRun(output, false, length);
      if (mode === 'head') listener.open({ id: '', name: '' });
      if (mode !== 'prose') listener.breakOff(length);
      output.consumed = length;
      parser.consumed = length;
      return takeEvents(output);
    },
  };
  newRun(output, 'outside', false);
  return parser;
}

/** A response that is there as a whole. */
export function sayWhole(output: ProseOutput, text: string, final: boolean, at: number): void {
  emit(output, { type: 'open', tag: 'response', depth: 0, final }, at);
  if (text !== '') emit(output, { type: 'delta', tag: 'response', text }, at);
  emit(output, { type: 'close', tag: 'response' }, at);
}

/** Closes a response of which `final` may have been decided only now. */
export function closeResponse(output: ProseOutput, opened: boolean, final: boolean, at: number): void {
  emit(output, { type: 'close', tag: 'response', ...(final === opened ? {} : { final }) }, at);
}
