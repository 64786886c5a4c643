import type { ParserEvent, Place } from '../intents.ts';
import { DEFAULT_MAX_BODY, pushedAfterEnd, type TurnParser } from '../turn-parser.ts';
import { endStream, read } from './reader.ts';
import { createReader, renewReader } from './reader-state.ts';

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
  const { output } = reader;
  let ended = false;
  // A getter for `consumed` would give each parser a shape of its own, and every caller a slow `push`.
  const parser = {
    consumed: 0,
    push(chunk: string): ParserEvent[] {
      if (ended) throw pushedAfterEnd();
      const events = read(reader, chunk);
      parser.consumed = output.consumed;
      return events;
    },
    end(): ParserEvent[] {
      if (ended) return [];
      ended = true;
      const events = endStream(reader);
      parser.consumed = output.consumed;
      return events;
    },
    renew(): void {
      renewReader(reader);
      parser.consumed = 0;
      ended = false;
    },
  };
  return parser;
}
