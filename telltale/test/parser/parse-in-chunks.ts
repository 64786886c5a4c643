/** Runs the production parser over chunks, keeping what every push gave. */
import type { ParserEvent } from '../../src/parser/intents.ts';
import { createTagParser } from '../../src/parser/tags/tag-parser.ts';
import { joinSpeech } from './reference-parser.ts';
import type { CaseOptions } from './worked-cases.ts';

export interface Pushed {
  readonly chunk: string;
  readonly events: readonly ParserEvent[];
  readonly consumed: number;
}

export interface Parsed {
  readonly pushes: readonly Pushed[];
  readonly last: readonly ParserEvent[];
  readonly consumed: number;
  readonly ids: ReadonlySet<string>;
  /** All events, adjacent speech joined. */
  readonly events: readonly ParserEvent[];
}

export function parseInChunks(chunks: readonly string[], options: CaseOptions = {}): Parsed {
  const ids = new Set(options.ids);
  const parser = createTagParser({ ...options, ids });
  const pushes = chunks.map((chunk) => ({ chunk, events: parser.push(chunk), consumed: parser.consumed }));
  const last = parser.end();
  const events = joinSpeech([...pushes.flatMap((push) => push.events), ...last]);
  return { pushes, last, consumed: parser.consumed, ids, events };
}

/** A fault's message is not compared. */
export const withoutMessages = (events: readonly ParserEvent[]): unknown[] =>
  events.map((event) => (event.type === 'fault' ? { type: event.type, code: event.code } : event));

/** Equal events give equal text, whatever the order of their fields. */
export const fingerprint = (events: readonly ParserEvent[]): string =>
  JSON.stringify(withoutMessages(events), (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
