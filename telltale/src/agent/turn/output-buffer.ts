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
export interface Spoken {
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

export const createSpoken = (log: SessionLog): Spoken => ({
  log,
  pending: '',
  offset: 0,
  parts: [],
  run: '',
  bare: '',
  deferred: [],
  thoughts: [],
});

export function renewSpoken(spoken: Spoken): void {
  spoken.pending = '';
  spoken.offset = 0;
  spoken.parts = [];
  spoken.run = '';
  spoken.bare = '';
  spoken.deferred = [];
  spoken.thoughts = [];
}

export function sayRaw(spoken: Spoken, piece: string): void {
  spoken.pending = extendText(spoken.pending, piece);
}

/** Something that `model`'s provider wants back, behind all that was said so far. */
export function keepPart(spoken: Spoken, part: GivenPart, model: string): void {
  const at = spoken.offset + spoken.pending.length;
  spoken.parts = [...spoken.parts, { ...part, at, model }];
}

/** Writes the raw stream up to `consumed`, if it is not on the log yet, and what was put off until then. */
export function writeOutput(spoken: Spoken, consumed: number): void {
  const { pending, offset, log } = spoken;
  const length = consumed - offset;
  if (length > 0) {
    const text = length >= pending.length ? pending : pending.slice(0, length);
    const parts = spoken.parts.length === 0 ? [] : takeParts(spoken, offset + text.length);
    log.append({ type: 'model.output', offset, text, ...(parts.length === 0 ? {} : { parts }) });
    spoken.pending = pending.slice(text.length);
    spoken.offset = offset + text.length;
  }
  const due = spoken.deferred;
  if (due.length === 0) return;
  spoken.deferred = [];
  for (const body of due) log.append(body);
}

/**
 * Writes an event with the raw stream around it, once that is written. What acts on nothing waits like this: a log that
 * ends inside an element which has only been opened would make the model open it again.
 */
export function writeLater(spoken: Spoken, body: EventBody, consumed: number): void {
  if (spoken.deferred.push(body) >= MAX_DEFERRED) writeOutput(spoken, consumed);
}

/** Takes out the parts that stand up to `at`. */
function takeParts(spoken: Spoken, at: number): readonly ProviderPart[] {
  const due = spoken.parts.filter((part) => part.at <= at);
  spoken.parts = spoken.parts.slice(due.length);
  return due;
}

/** Writes what is left, white space at the very end of the turn aside. */
export function writeRest(spoken: Spoken): void {
  const left = /\S/.test(spoken.pending) ? spoken.pending.length : 0;
  writeOutput(spoken, spoken.offset + left);
  const { offset, log } = spoken;
  if (spoken.parts.length === 0) return;
  const parts = takeParts(spoken, offset);
  if (parts.length > 0) log.append({ type: 'model.output', offset, text: '', parts });
}

/** Forgets what is not written. */
export function dropUnwritten(spoken: Spoken): void {
  spoken.pending = '';
  spoken.parts = [];
  spoken.run = '';
  spoken.deferred = [];
}

export function sayText(spoken: Spoken, text: string): void {
  spoken.run = extendText(spoken.run, text);
  spoken.bare = extendText(spoken.bare, text);
}

/** A tag ends the run of text before it. */
export function endRun(spoken: Spoken, consumed: number): void {
  if (spoken.run === '') return;
  const text = spoken.run;
  spoken.run = '';
  writeLater(spoken, { type: 'text', text }, consumed);
}

export function openThought(spoken: Spoken, depth: number): void {
  spoken.thoughts.push({ text: '', depth });
}

export function think(spoken: Spoken, text: string): void {
  const thought = spoken.thoughts.at(-1);
  if (thought === undefined) return;
  thought.text = extendText(thought.text, text);
  const { log } = spoken;
  if (!log.watched) return;
  const { id: session, turn } = log.state;
  log.show({ type: 'thought.delta', session, turn, depth: thought.depth, text });
}

/** An event of what was read up to `consumed`, behind the text that it came of. */
export function record(spoken: Spoken, body: EventBody, consumed: number): void {
  writeOutput(spoken, consumed);
  spoken.log.append(body);
}

/** Says the thoughts that are open as far as they went, innermost first. */
export function closeThoughts(spoken: Spoken): void {
  for (const { text, depth } of spoken.thoughts.toReversed())
    spoken.log.append({ type: 'thought', text, depth });
  spoken.thoughts = [];
}

export function closeThought(spoken: Spoken, consumed: number): void {
  const thought = spoken.thoughts.pop();
  if (thought === undefined) return;
  writeOutput(spoken, consumed);
  spoken.log.append({ type: 'thought', text: thought.text, depth: thought.depth });
}
