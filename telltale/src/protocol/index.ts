export type {
  ActionIntent,
  ActionKind,
  ActionMode,
  FaultCode,
  OnError,
  ParserEvent,
  Place,
  SpeechTag,
} from './intents.ts';
export { createTagParser, type TagParser, type TagParserOptions } from './tags/tag-parser.ts';
