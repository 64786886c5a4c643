import { withMethods } from '../../kernel/with-methods.ts';
import type { EarlierIds } from '../envelope/id-book.ts';
import type { ParserEvent, Place } from '../intents.ts';
import { textEvent } from '../prose/output.ts';
import { DEFAULT_MAX_BODY, type TurnParser } from '../turn-parser.ts';
import { goesOn } from './body-scan.ts';
import { passes } from './read-prose.ts';
import { endStream, read } from './reader.ts';
import { bodyOf, createReader, forgetActions, type Reader, renewReader } from './reader-state.ts';

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
  /** Whether the rest of the turn may be quotation, as far as it was read. */
  inDoubt(): boolean;
}

const DEFAULT_ACTIONS_IN: readonly Place[] = ['outside', 'thought'];

/**
 * A parser whose methods can be taken off it. Its `push` is written out once more: where it reads constants of its own, and
 * no record, a chunk of 4 characters takes 0.9 to 0.95 times the time.
 */
export function createTagParser(options: TagParserOptions = {}): TagParser {
  const { reader } = fieldsOf(options);
  const { output } = reader;
  const body = bodyOf(reader);
  // A getter for `consumed` would give each parser a shape of its own, and every caller a slow `push`.
  const parser = {
    consumed: 0,
    push(chunk: string): ParserEvent[] {
      if (reader.outlook === 'calm body') {
        if (goesOn(body, chunk)) return [];
      } else if (reader.outlook === 'calm prose' && passes(chunk)) {
        parser.consumed += chunk.length;
        return [textEvent(output.place, chunk)];
      }
      return readClosely(parser, reader, chunk);
    },
    end: () => finish(parser, reader),
    renew: () => begin(parser, reader),
    inDoubt: () => reader.turn.doubt,
  };
  return parser;
}

export interface SharedParserOptions extends Omit<TagParserOptions, 'key'> {
  readonly key?: string | undefined;
  /** Ids of earlier turns, which may be taken again: then `ids` are those of one turn. */
  readonly earlier?: EarlierIds;
}

/** One whose methods are called on it, for each session: 200 bytes less. */
export function createSharedTagParser(options: SharedParserOptions): TagParser {
  return withMethods<OwnParser, keyof typeof METHODS>(METHODS, fieldsOf(options));
}

interface Counter {
  consumed: number;
}

interface OwnParser extends TagParser, Counter {
  consumed: number;
  readonly reader: Reader;
}

const METHODS = { push, end, renew, inDoubt };

const fieldsOf = (options: SharedParserOptions) => ({
  consumed: 0,
  reader: createReader({
    maxBody: options.max_body ?? DEFAULT_MAX_BODY,
    actionsIn: options.actions_in ?? DEFAULT_ACTIONS_IN,
    key: options.key,
    ids: options.ids ?? new Set(),
    earlier: options.earlier,
  }),
});

function push(this: OwnParser, chunk: string): ParserEvent[] {
  const { reader } = this;
  // What most chunks are comes first, and touches no record that lives as long as the turn but the counters: what
  // is stored there costs the collector's book-keeping.
  if (reader.outlook === 'calm body') {
    if (goesOn(bodyOf(reader), chunk)) return [];
  } else if (reader.outlook === 'calm prose' && passes(chunk)) {
    this.consumed += chunk.length;
    return [textEvent(reader.output.place, chunk)];
  }
  return readClosely(this, reader, chunk);
}

/** Apart from `push`, so that what most chunks need is small enough to become part of the caller's loop. */
function readClosely(parser: Counter, reader: Reader, chunk: string): ParserEvent[] {
  const events = read(reader, chunk, parser.consumed);
  parser.consumed = reader.output.consumed;
  return events;
}

function finish(parser: Counter, reader: Reader): ParserEvent[] {
  if (reader.outlook === 'ended') return [];
  const events = endStream(reader, parser.consumed);
  parser.consumed = reader.output.consumed;
  return events;
}

function begin(parser: Counter, reader: Reader): void {
  renewReader(reader);
  parser.consumed = 0;
}

function end(this: OwnParser): ParserEvent[] {
  return finish(this, this.reader);
}

function renew(this: OwnParser): void {
  begin(this, this.reader);
  forgetActions(this.reader);
}

function inDoubt(this: OwnParser): boolean {
  return this.reader.turn.doubt;
}
