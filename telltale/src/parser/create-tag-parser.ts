import { checkOptions } from './parser-options.ts';
import { createTagParser as createParser, type TagParser, type TagParserOptions } from './tags/tag-parser.ts';

/** A parser of the tag protocol whose methods can be taken off it. Throws for options that a parser does not take. */
export function createTagParser(options: TagParserOptions = {}): TagParser {
  checkOptions('createTagParser', options);
  return createParser(options);
}
