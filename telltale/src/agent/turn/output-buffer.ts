import type { GivenPart, ProviderPart } from '../../lib/calls.ts';
import { extendText } from '../../lib/text.ts';
import type { EventBody } from '../../log/event.ts';
import type { SessionLog } from '../session-log.ts';

/** Events that wait for the raw stream around them to be written; with more, it is written at once. */
const MAX_DEFERRED = 256;

/**
 * What the model says until it is written: the raw stream, thoughts and runs of text. A record and functions, like the
 * rest of a turn: closures of each turn would be new call targets to the engine, which is most of what they cost.
 */
export interface OutputBuffer {
  readonly log: SessionLog;
  /** Raw and not written yet; begins at `offset` of the turn. Never sliced from the turn's start: that is quadratic. */
  pending: string;
  offset: number;
  /** What the provider wants back, and is not written yet. */
  parts: readonly ProviderPart[];
  /** The run of text that no tag has ended yet. */
  run: string;
  /** All text outside tags. */
  bare: string;
  deferred: EventBody[];
  /** Thoughts that are open, innermost last. */
  thoughts: { text: string; readonly depth: number }[];
}

export const createOutputBuffer = (log: SessionLog): OutputBuffer => ({
  log,
  pending: '',
  offset: 0,
  parts: [],
  run: '',
  bare: '',
  deferred: [],
  thoughts: [],
});

export function appendRaw(buffer: OutputBuffer, piece: string): void {
  buffer.pending = extendText(buffer.pending, piece);
}

/** Something that `model`'s provider wants back, behind all that was said so far. */
export function appendPart(buffer: OutputBuffer, part: GivenPart, model: string): void {
  const at = buffer.offset + buffer.pending.length;
  buffer.parts = [...buffer.parts, { ...part, at, model }];
}

/** Writes the raw stream up to `consumed`, if it is not on the log yet, and what was put off until then. */
export function writeOutput(buffer: OutputBuffer, consumed: number): void {
  const { pending, offset, log } = buffer;
  const length = consumed - offset;
  if (length > 0) {
    const text = length >= pending.length ? pending : pending.slice(0, length);
    const parts = buffer.parts.length === 0 ? [] : takeParts(buffer, offset + text.length);
    log.append({ type: 'model.output', offset, text, ...(parts.length === 0 ? {} : { parts }) });
    buffer.pending = pending.slice(text.length);
    buffer.offset = offset + text.length;
  }
  const due = buffer.deferred;
  if (due.length === 0) return;
  buffer.deferred = [];
  for (const body of due) log.append(body);
}

/**
 * Writes an event with the raw stream around it, once that is written. What acts on nothing waits like this: a log that
 * ends inside an element which has only been opened would make the model open it again.
 */
export function deferEvent(buffer: OutputBuffer, body: EventBody, consumed: number): void {
  if (buffer.deferred.push(body) >= MAX_DEFERRED) writeOutput(buffer, consumed);
}

/** Takes out the parts that stand up to `at`. */
function takeParts(buffer: OutputBuffer, at: number): readonly ProviderPart[] {
  const due = buffer.parts.filter((part) => part.at <= at);
  buffer.parts = buffer.parts.slice(due.length);
  return due;
}

/** Writes what is left, white space at the very end of the turn aside. */
export function writeRest(buffer: OutputBuffer): void {
  const left = /\S/.test(buffer.pending) ? buffer.pending.length : 0;
  writeOutput(buffer, buffer.offset + left);
  const { offset, log } = buffer;
  if (buffer.parts.length === 0) return;
  const parts = takeParts(buffer, offset);
  if (parts.length > 0) log.append({ type: 'model.output', offset, text: '', parts });
}

/** Forgets what is not written. */
export function dropUnwritten(buffer: OutputBuffer): void {
  buffer.pending = '';
  buffer.parts = [];
  buffer.run = '';
  buffer.deferred = [];
}

export function appendText(buffer: OutputBuffer, text: string): void {
  buffer.run = extendText(buffer.run, text);
  buffer.bare = extendText(buffer.bare, text);
}

/** A tag ends the run of text before it. */
export function endText(buffer: OutputBuffer, consumed: number): void {
  if (buffer.run === '') return;
  const text = buffer.run;
  buffer.run = '';
  deferEvent(buffer, { type: 'text', text }, consumed);
}

export function openThought(buffer: OutputBuffer, depth: number): void {
  buffer.thoughts.push({ text: '', depth });
}

export function appendThought(buffer: OutputBuffer, text: string): void {
  const thought = buffer.thoughts.at(-1);
  if (thought === undefined) return;
  thought.text = extendText(thought.text, text);
  const { log } = buffer;
  if (!log.watched) return;
  const { id: session, turn } = log.state;
  log.show({ type: 'thought.delta', session, turn, depth: thought.depth, text });
}

/** An event of what was read up to `consumed`, behind the text that it came of. */
export function writeEvent(buffer: OutputBuffer, body: EventBody, consumed: number): void {
  writeOutput(buffer, consumed);
  buffer.log.append(body);
}

/** Says the thoughts that are open as far as they went, innermost first. */
export function closeThoughts(buffer: OutputBuffer): void {
  for (const { text, depth } of buffer.thoughts.toReversed())
    buffer.log.append({ type: 'thought', text, depth });
  buffer.thoughts = [];
}

export function closeThought(buffer: OutputBuffer, consumed: number): void {
  const thought = buffer.thoughts.pop();
  if (thought === undefined) return;
  writeOutput(buffer, consumed);
  buffer.log.append({ type: 'thought', text: thought.text, depth: thought.depth });
}
