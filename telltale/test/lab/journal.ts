import { closeSync, existsSync, openSync, readSync } from 'node:fs';

/** What a tool of the lab writes down outside of every store, on disk before it goes on. */
export interface JournalLine {
  /** `before`: the effect is about to be. `after`: it is done. */
  readonly what: 'before' | 'after';
  readonly tool: string;
  /** The idempotency key it was called with: `STREAM:ACTION`, `STREAM:STEP`. */
  readonly key: string;
  readonly pid: number;
  /** Milliseconds since the machine started: the same clock for all its processes, and nobody sets it. */
  readonly at: number;
}

export const JOURNAL = 'journal.jsonl';

/** What a key is made of. */
export function partsOf(key: string): { readonly stream: string; readonly id: string } {
  const at = key.indexOf(':');
  return { stream: key.slice(0, at), id: key.slice(at + 1) };
}

/** The module that tools write with: one line a write, so that no two processes mix theirs. */
export const JOURNAL_MODULE = `
import { fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
const path = join(import.meta.dirname, '..', ${JSON.stringify(JOURNAL)});
let file;
export function note(what, tool, key) {
  file ??= openSync(path, 'a');
  const at = Math.round(Number(process.hrtime.bigint()) / 1e6);
  writeSync(file, JSON.stringify({ what, tool, key, pid: process.pid, at }) + '\\n');
  fsyncSync(file);
}
export const timesBegun = (key) =>
  readFileSync(path, 'utf8').split('\\n').filter((line) => line.includes('"before"') && line.includes(JSON.stringify(key))).length;
export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
`;

/** Reads on where it stopped. A line that is not whole yet is left for the next time. */
export interface JournalReader {
  /** All lines so far. */
  read(): readonly JournalLine[];
}

export function openJournal(file: string): JournalReader {
  const lines: JournalLine[] = [];
  let offset = 0;
  let rest = Buffer.alloc(0);
  const piece = Buffer.alloc(64 * 1024);
  return {
    read() {
      if (!existsSync(file)) return lines;
      const handle = openSync(file, 'r');
      try {
        for (let got = readSync(handle, piece, 0, piece.length, offset); got > 0; ) {
          offset += got;
          rest = Buffer.concat([rest, piece.subarray(0, got)]);
          got = readSync(handle, piece, 0, piece.length, offset);
        }
      } finally {
        closeSync(handle);
      }
      const end = rest.lastIndexOf(10) + 1;
      const whole = rest.subarray(0, end).toString('utf8');
      rest = Buffer.from(rest.subarray(end));
      for (const line of whole.split('\n')) if (line !== '') lines.push(parseLine(line));
      return lines;
    },
  };
}

function parseLine(line: string): JournalLine {
  const parsed = JSON.parse(line) as JournalLine;
  if ((parsed.what !== 'before' && parsed.what !== 'after') || !parsed.key.includes(':'))
    throw new Error(`The journal holds the line ${line}`);
  return parsed;
}
