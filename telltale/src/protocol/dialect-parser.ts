import type { CallNames } from './calls/call-names.ts';
import type { CallParser } from './calls/call-parser.ts';
import type { EarlierIds } from './envelope/id-book.ts';
import { createStepParser } from './step/step-parser.ts';
import { createSharedTagParser, type SharedParserOptions, type TagParser } from './tags/tag-parser.ts';
import { createToolsParser } from './tools/tools-parser.ts';

/** How a model acts: with tags in its text, with native tool calls, or with one native call a turn. */
export type Dialect = 'tags' | 'tools' | 'step';
export type CallDialect = Exclude<Dialect, 'tags'>;

export interface CallParserOptions {
  readonly max_body?: number;
  readonly ids?: Set<string>;
  /** Ids of earlier turns, which may be taken again. */
  readonly earlier?: EarlierIds;
  readonly names?: CallNames;
  /** Whether the session is led, in the dialect `step`. */
  readonly led?: boolean;
}

export type DialectParserOptions = SharedParserOptions & CallParserOptions;

/** The parser of a turn in a dialect. All give the same events. */
export function createDialectParser(
  dialect: Dialect,
  options: DialectParserOptions = {},
): TagParser | CallParser {
  return dialect === 'tags' ? createSharedTagParser(options) : createCallDialectParser(dialect, options);
}

export function createCallDialectParser(dialect: CallDialect, options: CallParserOptions = {}): CallParser {
  return dialect === 'tools' ? createToolsParser(options) : createStepParser(options);
}
