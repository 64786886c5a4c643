export type { ActionKind, ActionMode, OnError } from '../kernel/action-envelope.ts';
export { createTagParser } from './create-tag-parser.ts';
export type { FaultCode } from './fault-codes.ts';
export type { ActionIntent, ParserEvent, Place, SpeechTag } from './intents.ts';
export { type ParseStreamOptions, parseStream, type StreamHandlers } from './parse-stream.ts';
export type { TagParser, TagParserOptions } from './tags/tag-parser.ts';
