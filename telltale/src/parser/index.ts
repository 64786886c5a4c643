export type { ActionKind, ActionMode, OnError } from '../lib/calls.ts';
export { createTagParser } from './create-tag-parser.ts';
export type { ActionIntent, FaultCode, ParserEvent, Place, SpeechTag } from './intents.ts';
export { type ParseStreamOptions, parseStream, type StreamHandlers } from './parse-stream.ts';
export type { TagParser, TagParserOptions } from './tags/tag-parser.ts';
