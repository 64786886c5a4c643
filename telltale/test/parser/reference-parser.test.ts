import { describe, expect, test } from 'vitest';
import type { ParserEvent } from '../../src/parser/intents.ts';
import { referenceParse } from './reference-parser.ts';
import { readCases } from './worked-cases.ts';

const withoutMessages = (events: readonly ParserEvent[]) =>
  events.map((event) => (event.type === 'fault' ? { type: event.type, code: event.code } : event));

describe.each(['vectors/protocol.jsonl', 'vectors/protocol-options.jsonl', 'cases.jsonl'])(
  'the reference reading agrees with %s',
  (file) => {
    test.each(readCases(new URL(file, import.meta.url)))('$name', ({ input, options, events }) => {
      expect(withoutMessages(referenceParse(input, options))).toEqual(events);
    });
  },
);
