import type { SessionLog } from '../session-log.ts';

/**
 * What the model says until it is written: the raw stream, thoughts and runs of text. A record and functions, like the
 * rest of a turn: closures of each turn would be new call targets to the engine, which is most of what they cost.
 */
export interface Spoken {
  readonly log: SessionLog;
  /** Raw and not written yet; begins at `offset` of the turn. Never sliced from the turn's start: that is quadratic. */
  pending: string;
  offset: number;
  /** The run of text that no tag has ended yet. */
  run: string;
  /** All text outside tags. */
  bare: string;
  /** Thoughts that are open, innermost last. */
  readonly thoughts: { text: string; readonly depth: number }[];
}

export const createSpoken = (log: SessionLog): Spoken => ({
  log,
  pending: '',
  offset: 0,
  run: '',
  bare: '',
  thoughts: [],
});

/** Writes the raw stream up to `consumed`, if it is not on the log yet. */
export function writeOutput(spoken: Spoken, consumed: number): void {
  const length = consumed - spoken.offset;
  if (length <= 0) return;
  const { pending, offset } = spoken;
  const text = length >= pending.length ? pending : pending.slice(0, length);
  spoken.log.append({ type: 'model.output', offset, text });
  spoken.pending = pending.slice(text.length);
  spoken.offset = offset + text.length;
}

/** Writes what is left, white space at the very end of the turn aside. */
export function writeRest(spoken: Spoken): void {
  if (/\S/.test(spoken.pending)) writeOutput(spoken, spoken.offset + spoken.pending.length);
}

export function sayText(spoken: Spoken, text: string): void {
  spoken.run += text;
  spoken.bare += text;
}

/** A tag ends the run of text before it. */
export function endRun(spoken: Spoken, consumed: number): void {
  if (spoken.run === '') return;
  const text = spoken.run;
  spoken.run = '';
  writeOutput(spoken, consumed);
  spoken.log.append({ type: 'text', text });
}

export function think(spoken: Spoken, text: string): void {
  const thought = spoken.thoughts.at(-1);
  if (thought === undefined) return;
  thought.text += text;
  const { log } = spoken;
  if (!log.watched) return;
  const { id: session, turn } = log.state;
  log.show({ type: 'thought.delta', session, turn, depth: thought.depth, text });
}

export function closeThought(spoken: Spoken, consumed: number): void {
  const thought = spoken.thoughts.pop();
  if (thought === undefined) return;
  writeOutput(spoken, consumed);
  spoken.log.append({ type: 'thought', text: thought.text, depth: thought.depth });
}
