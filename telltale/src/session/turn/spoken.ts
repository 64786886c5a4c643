import type { SessionLog } from '../session-log.ts';

/** Keeps what the model says until it is written: the raw stream, thoughts and runs of text. */
export interface Spoken {
  /** A piece of the raw stream. */
  hear(piece: string): void;
  /** Writes the raw stream up to `consumed`, if it is not on the log yet. */
  write(consumed: number): void;
  /** Writes what is left, white space at the very end of the turn aside. */
  writeAll(): void;
  text(text: string): void;
  /** A tag ends the run of text before it. */
  endRun(consumed: number): void;
  openThought(depth: number): void;
  think(text: string): void;
  closeThought(consumed: number): void;
  /** All text outside tags. */
  readonly bare: string;
}

export function createSpoken(log: SessionLog): Spoken {
  const { state } = log;
  const thoughts: { text: string; readonly depth: number }[] = [];
  /** Not written yet; begins at `offset` of the turn. Never sliced from the turn's start: that would be quadratic. */
  let pending = '';
  let offset = 0;
  let run = '';

  const spoken = {
    bare: '',
    hear(piece: string) {
      pending += piece;
    },
    write(consumed: number) {
      const length = consumed - offset;
      if (length <= 0) return;
      const text = length >= pending.length ? pending : pending.slice(0, length);
      log.append({ type: 'model.output', offset, text });
      pending = pending.slice(text.length);
      offset += text.length;
    },
    writeAll() {
      if (/\S/.test(pending)) spoken.write(offset + pending.length);
    },
    text(text: string) {
      run += text;
      spoken.bare += text;
    },
    endRun(consumed: number) {
      if (run === '') return;
      const text = run;
      run = '';
      spoken.write(consumed);
      log.append({ type: 'text', text });
    },
    openThought(depth: number) {
      thoughts.push({ text: '', depth });
    },
    think(text: string) {
      const thought = thoughts.at(-1);
      if (thought === undefined) return;
      thought.text += text;
      if (!log.watched) return;
      log.show({
        type: 'thought.delta',
        session: state.id,
        turn: state.turn,
        depth: thought.depth,
        text,
      });
    },
    closeThought(consumed: number) {
      const thought = thoughts.pop();
      if (thought === undefined) return;
      spoken.write(consumed);
      log.append({ type: 'thought', text: thought.text, depth: thought.depth });
    },
  };
  return spoken;
}
