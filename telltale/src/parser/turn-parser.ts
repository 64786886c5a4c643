import { RuntimeError } from '../lib/errors.ts';
import type { ParserEvent } from './intents.ts';

/** Reads one turn of a model's stream. Synchronous, without I/O, and never throws for what a model writes. */
export interface TurnParser {
  /** Takes the next piece of the stream and returns what it made certain. */
  push(chunk: string): ParserEvent[];
  /** Says that the stream is over and returns what was still open or held. */
  end(): ParserEvent[];
  /** How many characters of the stream the events returned so far account for. */
  readonly consumed: number;
}

export const DEFAULT_MAX_BODY = 1024 * 1024;

export const pushedAfterEnd = () =>
  new RuntimeError('parser_ended', 'push() was called on a parser whose end() has been called.', {
    hint: 'A parser reads one turn: create a new one for the next.',
  });
