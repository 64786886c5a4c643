import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { ParserEvent, Place } from '../intents.ts';
import { endStream, read } from './reader.ts';
import { createReader } from './reader-state.ts';

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

/** Reads one turn of a model's stream. Synchronous, without I/O, and never throws for what a model writes. */
export interface TagParser {
  /** Takes the next piece of the stream and returns what it made certain. */
  push(chunk: string): ParserEvent[];
  /** Says that the stream is over and returns what was still open or held. */
  end(): ParserEvent[];
  /** How many characters of the stream the events returned so far account for. */
  readonly consumed: number;
}

const DEFAULT_MAX_BODY = 1024 * 1024;
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
  };
  return parser;
}

const pushedAfterEnd = () =>
  new RuntimeError('parser_ended', 'push() was called on a parser whose end() has been called.', {
    hint: 'A parser reads one turn: create a new one for the next.',
  });
