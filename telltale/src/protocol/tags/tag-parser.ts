import type { ParserEvent, Place } from '../intents.ts';
import { textEvent } from '../prose/output.ts';
import { DEFAULT_MAX_BODY, type TurnParser } from '../turn-parser.ts';
import { goesOn } from './body-scan.ts';
import { passes } from './read-prose.ts';
import { endStream, read } from './reader.ts';
import { createReader, type Reader, renewReader } from './reader-state.ts';

export interface TagParserOptions {
  /** The most characters a body may have between its tags; 1 MiB by default. */
  readonly max_body?: number;
  /** Where actions, metadata and control tags count; outside and in thoughts by default. */
  readonly actions_in?: readonly Place[];
  /** The session's seal: with it, a tag that acts must carry `key="…"`. */
  readonly key?: string;
  /** The ids taken in the session so far; the parser adds to it. */
  readonly ids?: Set<string>;
}

export interface TagParser extends TurnParser {
  /** Begins with another turn of the same session: ids that were taken stay taken. A new parser is 3 KB. */
  renew(): void;
}

const DEFAULT_ACTIONS_IN: readonly Place[] = ['outside', 'thought'];

export function createTagParser(options: TagParserOptions = {}): TagParser {
  const reader = createReader({
    maxBody: options.max_body ?? DEFAULT_MAX_BODY,
    actionsIn: options.actions_in ?? DEFAULT_ACTIONS_IN,
    key: options.key,
    ids: options.ids ?? new Set(),
  });
  const { body, output } = reader;
  // A getter for `consumed` would give each parser a shape of its own, and every caller a slow `push`.
  const parser = {
    consumed: 0,
    push(chunk: string): ParserEvent[] {
      // What most chunks are comes first, and touches no record that lives as long as the turn but the counters: what
      // is stored there costs the collector's book-keeping.
      if (reader.outlook === 'calm body') {
        if (goesOn(body, chunk)) return [];
      } else if (reader.outlook === 'calm prose' && passes(chunk)) {
        parser.consumed += chunk.length;
        return [textEvent(output.place, chunk)];
      }
      return readClosely(parser, reader, chunk);
    },
    end(): ParserEvent[] {
      if (reader.outlook === 'ended') return [];
      const events = endStream(reader, parser.consumed);
      parser.consumed = output.consumed;
      return events;
    },
    renew(): void {
      renewReader(reader);
      parser.consumed = 0;
    },
  };
  return parser;
}

/** Apart from `push`, so that what most chunks need is small enough to become part of the caller's loop. */
function readClosely(parser: { consumed: number }, reader: Reader, chunk: string): ParserEvent[] {
  const events = read(reader, chunk, parser.consumed);
  parser.consumed = reader.output.consumed;
  return events;
}
