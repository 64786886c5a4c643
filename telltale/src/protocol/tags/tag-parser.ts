import type { ParserEvent, Place } from '../intents.ts';

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

export declare function createTagParser(options?: TagParserOptions): TagParser;
