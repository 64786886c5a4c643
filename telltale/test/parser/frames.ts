import fc from 'fast-check';
import { FRAME_MARK, frameOf } from '../../src/lib/calls.ts';
import type { CallParser } from '../../src/parser/calls/call-parser.ts';
import type { CallDialect, CallParserOptions } from '../../src/parser/dialect-parser.ts';
import { createCallDialectParser } from '../../src/parser/dialect-parser.ts';
import type { ParserEvent } from '../../src/parser/intents.ts';
import { chunksOf } from './chunking.ts';
import { joinSpeech } from './reference-parser.ts';

/** A frame; an input that is text is taken as it is. */
export const frame = (name: string, input: unknown = {}): string =>
  frameOf({ id: 'call_1', name, input: typeof input === 'string' ? input : JSON.stringify(input) });

export interface Heard {
  readonly events: readonly ParserEvent[];
  readonly consumed: number;
  readonly given: readonly string[];
}

/** All events of a turn, however it is cut, adjacent speech joined. */
export function hear(
  dialect: CallDialect,
  text: string,
  options: CallParserOptions = {},
  sizes: readonly number[] = [text.length],
): Heard {
  const parser = createCallDialectParser(dialect, { ...options, ids: new Set(options.ids) });
  const events = chunksOf(text, sizes).flatMap((chunk) => parser.push(chunk));
  return finish(parser, events);
}

/** The same, cut behind every intent, as a session reads. */
export function hearByIntents(dialect: CallDialect, text: string, options: CallParserOptions = {}): Heard {
  const parser = createCallDialectParser(dialect, { ...options, ids: new Set(options.ids) });
  const events: ParserEvent[] = [];
  for (let at = 0; at < text.length; ) {
    const to = parser.advance(text, at);
    if (to <= at) throw new Error(`It stood still at ${at}.`);
    at = to;
    events.push(...parser.take());
  }
  return finish(parser, events);
}

function finish(parser: CallParser, events: readonly ParserEvent[]): Heard {
  const all = [...events, ...parser.end()];
  return { events: joinSpeech(all), consumed: parser.consumed, given: parser.given };
}

const json = fc.json({ maxDepth: 3 });
const run = fc.oneof(
  json,
  fc.constantFrom(
    '{"id":"x"}',
    '{"id":"x","mode":"sync"}',
    '{"mode":"bad"}',
    '{"depends_on":["x"],"retry":1}',
    '{"depend_on":["x"]}',
    'null',
  ),
);

const respond = fc.constantFrom(
  '{"text":"Hi \\"you\\" \\ud83d\\ude00 \\u00e9\\n$x","final":false}',
  '{"final":"FALSE","text":"a","text":"b"}',
  '{"text":"half',
  "{'text':'single', // odd\n}",
  '{"text":"x",}',
  '{"text":7}',
  '{"text":"x","output":{"a":[1]}}',
  '{"output":"\ud83d\ude00","final":false}',
  '```json\n{"text":"fenced"}\n```',
);

const step = fc.constantFrom(
  '{"thought":"Hm \\ud83d\\ude00","tool_calls":[{"name":"a","input":{"b":"}]"}},{"name":"b","id":"x"}],"is_complete":false}',
  '{"tool_calls":[{"name":"a","id":"x"},{"name":"b","id":"x"},7,"s",{"name":""},{}],"is_complete":true,"notes":"n"}',
  '{"response":"All.","is_complete":true,"notes":"n","metadata":{"s":1},"context_updates":{"v":null}}',
  '{"is_complete":true,"notes":"only notes"}',
  '{"is_complete":true}',
  '{"is_complete":"yes","notes":3,"thought":null,"response":4,"tool_calls":{},"metadata":[],"strange":1}',
  '{"response":"one","response":"two","output":[1],"is_complete":true,"notes":"x"}',
  "{'thought':'single','tool_calls':[{'name':'a'},],}",
  '{"thought":"cut',
  '{"tool_calls":[{"name":"a"',
  '[1]',
  '{"a" 1}',
  ' ',
);

const input = fc.oneof(
  json,
  respond,
  step,
  run.map((each) => `{"q":1,"_run":${each}}`),
  fc.string({ maxLength: 20 }),
);

const part = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.constantFrom(' \n', 'Prose. ', '\ud83d', '\ude00', FRAME_MARK, '\n', `${FRAME_MARK}\n`),
  fc
    .tuple(fc.constantFrom('search', 'respond', 'set_metadata', 'step', ''), input)
    .map(([name, given]) => frame(name, given)),
  step.map((given) => frame('step', given)),
  respond.map((given) => frame('respond', given)),
);

/** What a model, or a log that was changed by hand, may hold. */
export const hostileTurn: fc.Arbitrary<string> = fc
  .tuple(fc.array(part, { maxLength: 6 }), fc.nat(6))
  .map(([parts, cut]) => {
    const text = parts.join('');
    return text.slice(0, Math.max(0, text.length - cut));
  });
