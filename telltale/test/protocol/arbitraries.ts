/**
 * Hostile model output: valid tags, nearly valid ones, quotations of both, and the characters on which a
 * parser of them trips. A turn is a list of fragments, so that a failure shrinks to the few that matter.
 */
import fc from 'fast-check';
import type { Place } from '../../src/protocol/intents.ts';
import type { CaseOptions } from './worked-cases.ts';

export const SEAL = 'k9';

const NAMES = ['thought', 'action', 'metadata', 'response', 'if', 'else', 'foreach', 'parallel'] as const;
const RARE_NAMES = [
  'think',
  'thinking',
  'result',
  'context_feed',
  'thoughts',
  'Action',
  'i',
  'actions',
] as const;
const name = fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...NAMES) }, fc.constantFrom(...RARE_NAMES));

const gap = fc.constantFrom('', '', '', ' ', '\n', '\t', '\r\n', '\r', ' \n ');
const space = fc.constantFrom(' ', ' ', '\n', '\t', '  ', '\r\n');
const maybe = (arbitrary: fc.Arbitrary<string>) => fc.oneof(fc.constant(''), arbitrary);
const together = (...parts: fc.Arbitrary<string>[]) => fc.tuple(...parts).map((texts) => texts.join(''));

// ---- Attributes -------------------------------------------------------------------------------------------

const attributeName = fc.constantFrom(
  'id',
  'type',
  'mode',
  'test',
  'in',
  'as',
  'final',
  'key',
  'depends_on',
  'x',
);
const attributeValue = fc.constantFrom(
  'a1',
  'x',
  'g',
  'a b',
  '',
  'tool',
  'context_feed',
  'sync',
  'later',
  'true',
  'FALSE',
  'maybe',
  SEAL,
  '$list',
  '1a',
  'a < 1',
  'x > y',
  '&lt;b&gt;&amp;&quot;',
  '&amp;lt;',
  '/',
  'a/',
  '`',
  '```',
  '</thought>',
  '<action>{"name":"q"}</action>',
  '\n',
  '=',
  '[1]',
  'é',
  '\ud800',
);
const quotedValue = fc
  .tuple(attributeValue, fc.constantFrom('"', "'", ''))
  .map(([value, quote]) => `${quote}${value}${quote}`);
const anyAttribute = together(space, attributeName, gap, fc.constant('='), gap, quotedValue);
const goodAttribute = fc.constantFrom(
  ' id="x"',
  ' id="a1"',
  " id='g'",
  ' id=y',
  ' type="agent"',
  ' mode=sync',
  ' mode="fire_and_forget"',
  ` key="${SEAL}"`,
  ' test="x > 1"',
  ' test="y"',
  ' in="$list"',
  ' as="item"',
  ' final="false"',
  ' final',
  ' final=True',
);
const oddAttribute = fc.constantFrom(
  ' sync',
  ' "',
  " '",
  ' ="v"',
  '"q"',
  ' id="x"mode="sync"',
  ' id=',
  ' /',
  '/',
  ' <',
  ' final="no"',
  ' test=""',
  ' é=1',
  ' 1=2',
  ' a.b:c-d=1',
  ' id="open',
);
const attributes = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: goodAttribute },
      { weight: 2, arbitrary: anyAttribute },
      { weight: 1, arbitrary: oddAttribute },
    ),
    { maxLength: 3 },
  )
  .map((list) => list.join(''));

// ---- Tags -------------------------------------------------------------------------------------------------

const tagEnd = fc.constantFrom('>', '>', '>', '>', '>', '/>', ' >', ' />', '/ >', '');
const anyOpening = together(fc.constant('<'), name, attributes, tagEnd);
const anyClosing = together(
  fc.constant('</'),
  name,
  gap,
  fc.constantFrom('>', '>', '>', '>', '/>', ' x>', ''),
);

const wellFormedOpening = fc.constantFrom(
  '<thought>',
  '<think>',
  '<response>',
  '<response final="false">',
  '<response final>',
  '<if test="x">',
  '<else/>',
  '<else>',
  '<foreach in="$list">',
  `<foreach in="$l" as="f" key="${SEAL}">`,
  '<parallel>',
  '<parallel id="g">',
  '<parallel id="x">',
  '<action>',
  `<action key="${SEAL}">`,
  '<metadata>',
  '<thought/>',
  '<response/>',
  '<if test="x"/>',
  '<foreach in="$l"/>',
  '<parallel/>',
  '<action/>',
  '<if>',
  '<if test="<">',
  '<if test=<',
  '<if a',
  '<thought a=',
  '<thought about',
  '<response to',
  '<result>',
  '<context_feed id="c">',
);
const wellFormedClosing = fc.constantFrom(
  '</thought>',
  '</thinking>',
  '</response>',
  '</if>',
  '</foreach>',
  '</parallel>',
  '</action>',
  '</metadata>',
  '</thought\n>',
  '</response  >',
  '</if >',
  '</else>',
  '</result>',
  '</if x>',
  '</action',
  '</respon',
);

// ---- Bodies -----------------------------------------------------------------------------------------------

const stringInside = fc.constantFrom(
  'a',
  '</action>',
  '</action>\n',
  '</metadata> \r\n',
  '<thought>',
  '\\"',
  '\\\\',
  '\\n',
  '"',
  "'",
  '\n',
  '\t',
  '{',
  '}',
  '//',
  '/*',
  '```',
  '\u2028',
  '\ud83d',
  '😀',
  '\\u00e9',
  '\\',
  '\\<',
);
const jsonString = fc.array(stringInside, { maxLength: 3 }).map((parts) => `"${parts.join('')}"`);
const field = fc.oneof(
  fc.constantFrom(
    '"name": "n"',
    '"name": "n"',
    '"name": "n"',
    '"name": ""',
    '"name": 7',
    "'name': 'n'",
    'name: "n"',
    '"template": "t"',
    '"parameters": {}',
    '"parameters": {...}',
    '"parameters": [1, 2,]',
    '"parameters": {"a": [1, {"b": null}]}',
    '"depends_on": ["a1"]',
    '"depends_on": [""]',
    '"depends_on": "a"',
    '"dependson": ["a"]',
    '"timeout": 2.5',
    '"timeout": 0',
    '"timeout": 1e999',
    '"retry": 3',
    '"retry": -1',
    '"on_error": "fail"',
    '"on_error": "no"',
    '"if": "x"',
    '"if": ""',
    '"output_key": "o-1"',
    '"output_key": "1"',
    '"compensate": {"name": "u"}',
    '"compensate": {"name": "u", "type": "relic"}',
    '"compensate": {"type": "tool"}',
    '"compensate": {"name": "u", "mode": "sync"}',
    '"parameters": null',
    '"foo": null',
    '"id": "x"',
    '"type": null',
    '"__proto__": {}',
    '...',
  ),
  fc
    .tuple(fc.constantFrom('"name"', '"parameters"', '"note"'), jsonString)
    .map(([key, value]) => `${key}: ${value}`),
);
const joint = fc.constantFrom(', ', ', ', ', ', ',\n', ',', ' // no\n, ', ', /* c */', ',,', ' ', ', // "\n');
const object = fc
  .tuple(
    fc.array(fc.tuple(field, joint), { maxLength: 3 }),
    fc.constantFrom('"name": "n"', '"name": "n"', '"template": "t"', '', '"x"'),
  )
  .map(([fields, last]) => `{${fields.map((pair) => pair.join('')).join('')}${last}`);
const bodyEnd = fc.constantFrom(
  '}',
  '}',
  '}',
  '}',
  ',}',
  '',
  ']}',
  '} x',
  '}}',
  '} /* c */',
  '} // c',
  '\n}\n',
);
const fence = fc.constantFrom('```', '```json', '~~~', '~~~js', '````JSON', '``', '``` json', '```json5 x');
const plainBody = fc.constantFrom(
  '{"name": "n"}',
  '{"name": "m", "parameters": {"x": 1}}',
  '{}',
  '...',
  '[]',
  '"x"',
  '{',
  ' ',
  '',
);
const body = fc.oneof(
  { weight: 4, arbitrary: plainBody },
  { weight: 4, arbitrary: together(gap, object, bodyEnd) },
  {
    weight: 1,
    arbitrary: together(
      gap,
      fence,
      fc.constantFrom('\n', ' ', ''),
      object,
      bodyEnd,
      fc.constantFrom('\n```\n', '\n~~~', '```', '\n````', '', '\n``` x'),
    ),
  },
);
const acting = fc
  .tuple(
    fc.constantFrom('action', 'action', 'metadata'),
    attributes,
    gap,
    body,
    gap,
    fc.constantFrom('close', 'close', 'close', 'close', 'other', 'none'),
  )
  .map(([tag, given, before, text, after, end]) => {
    const close = { close: `</${tag}>`, other: '</thought>', none: '' }[end];
    return `<${tag}${given}>${before}${text}${after}${close ?? ''}`;
  });
const quickAction = fc.constantFrom(
  '<action>{"name":"n"}</action>',
  '<action id="x">{"name":"n"}</action>',
  '<action id="a2">{"name":"n"}</action>',
  `<action key="${SEAL}">{"name":"n"}</action>`,
  '<action mode="sync">{"template":"t"}</action>',
  '<metadata>{"a":1}</metadata>',
  `<metadata key="${SEAL}">{}</metadata>`,
);

// ---- Prose and Markdown -------------------------------------------------------------------------------------

const ticks = fc.integer({ min: 1, max: 5 }).map((count) => '`'.repeat(count));
const tildes = fc.integer({ min: 2, max: 5 }).map((count) => '~'.repeat(count));
const prose = fc.constantFrom(
  'a',
  'word',
  'two words',
  ' ',
  '  ',
  '\n',
  '\n',
  '\n',
  '\r\n',
  '\r',
  '\t',
  '.',
  '<',
  '</',
  '< ',
  '<b>',
  '<!-- c -->',
  '>',
  '> ',
  '- ',
  '* ',
  '1. ',
  '2) ',
  '-',
  '"',
  "'",
  '=',
  '/',
  '\\',
  '\\`',
  '{',
  '}',
  '$x',
  '&lt;',
  '😀',
  '\ud83d',
  '\ude00',
  '\u0000',
  '\u2028',
  '\u00a0',
  'é',
  '\ufeff',
);
const markdown = fc.oneof(
  ticks,
  tildes,
  together(
    maybe(fc.constantFrom('> ', '- ', '  ', '1. ', 'x')),
    fc.oneof(ticks, tildes),
    maybe(fc.constantFrom('js', ' json', ' x y')),
    fc.constantFrom('\n', '\r\n'),
  ),
  together(
    fc.constant('\n'),
    maybe(fc.constantFrom('> ', '  ', 'x')),
    fc.oneof(ticks, tildes),
    maybe(fc.constantFrom(' ', '>', ' x')),
    fc.constantFrom('\n', '', '\r\n'),
  ),
);
const atLineEnd = together(wellFormedClosing, fc.constantFrom('\n', ' \r\n', ' x\n', '\n\n'));
const aloneOnLine = together(
  fc.constantFrom('\n', '\n '),
  wellFormedClosing,
  fc.constantFrom('\n', ' \n', '\r\n'),
);

const long = fc
  .tuple(
    fc.constantFrom('<thought a="', '<if test="', '<action id=', '</thought', '<response ', '<parallel '),
    fc.integer({ min: 4070, max: 4100 }),
    fc.constantFrom('x', ' ', '`', '<'),
    fc.constantFrom('">', '>', '"', '/>'),
  )
  .map(([open, count, filler, end]) => open + filler.repeat(count) + end);

const fragment = fc.oneof(
  { weight: 10, arbitrary: prose },
  { weight: 6, arbitrary: markdown },
  { weight: 8, arbitrary: wellFormedOpening },
  { weight: 8, arbitrary: wellFormedClosing },
  { weight: 4, arbitrary: quickAction },
  { weight: 4, arbitrary: acting },
  { weight: 3, arbitrary: anyOpening },
  { weight: 2, arbitrary: anyClosing },
  { weight: 3, arbitrary: atLineEnd },
  { weight: 3, arbitrary: aloneOnLine },
);

/** Elements that are opened and, mostly, closed again around what they hold. */
const { element } = fc.letrec<{ element: string; inside: string }>((tie) => ({
  inside: fc
    .array(
      fc.oneof(
        { maxDepth: 3, depthIdentifier: 'element' },
        { weight: 4, arbitrary: fragment },
        tie('element'),
      ),
      { maxLength: 5 },
    )
    .map((parts) => parts.join('')),
  element: fc
    .tuple(
      fc.constantFrom(
        ['<thought>', '</thought>'],
        ['<response>', '</response>'],
        ['<if test="x">', '</if>'],
        ['<if test="x">\n', '\n<else/>'],
        ['<else/>', '</if>'],
        ['<foreach in="$l">', '</foreach>'],
        ['<parallel id="g">', '</parallel>'],
        ['```\n', '\n```\n'],
        ['`', '`'],
        ['~~~\n', '\n~~~\n'],
      ),
      tie('inside'),
    )
    .map(([[open = '', close = ''], held]) => open + held + close),
}));

/** A whole turn. */
export const turn: fc.Arbitrary<string> = fc
  .array(fc.oneof({ weight: 12, arbitrary: fragment }, { weight: 4, arbitrary: element }), { maxLength: 14 })
  .map((parts) => parts.join(''));

/** A turn with one tag about as long as a tag may be. */
export const longTurn: fc.Arbitrary<string> = fc
  .tuple(fc.array(fragment, { maxLength: 3 }), long, fc.array(fragment, { maxLength: 3 }))
  .map(([before, tag, after]) => [...before, tag, ...after].join(''));

/** Characters that matter, in no order at all. */
export const noise: fc.Arbitrary<string> = fc.string({
  unit: fc.constantFrom(
    ...'<>/="\'`~\\{}[]:, \t\r\n-.&;a1$',
    '\ud83d',
    '\ude00',
    '\u0000',
    '<if',
    '<action>',
    '</action>',
    '<thought>',
    '</thought>',
  ),
  maxLength: 60,
});

export const options: fc.Arbitrary<CaseOptions> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  {
    weight: 2,
    arbitrary: fc.record(
      {
        max_body: fc.integer({ min: 0, max: 60 }),
        actions_in: fc.subarray<Place>(['outside', 'thought', 'response']),
        key: fc.constant(SEAL),
        ids: fc.subarray(['a1', 'a2', 'x', 'g', 'a4']),
      },
      { requiredKeys: [] },
    ),
  },
);

/** Sizes of chunks, used over and over; 0 is an empty push. */
export const chunkSizes: fc.Arbitrary<readonly number[]> = fc.oneof(
  fc.constant([1]),
  fc.array(fc.integer({ min: 0, max: 12 }), { minLength: 1, maxLength: 8 }),
);

export function chunksOf(input: string, sizes: readonly number[]): string[] {
  const useful = sizes.some((size) => size > 0) ? sizes : [1];
  const chunks: string[] = [];
  for (let at = 0, turn = 0; at < input.length; turn++) {
    const size = useful[turn % useful.length] ?? 1;
    chunks.push(input.slice(at, at + size));
    at += size;
  }
  return chunks;
}

export const hostileText: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '</action>',
        '</metadata>',
        '<thought>',
        '</thought>',
        '"',
        "'",
        '\\',
        '\n',
        '\u2028',
        '\u2029',
        '`',
        '```',
        '{',
        '}',
        '//',
        '/*',
        ',',
        '\ud800',
        '😀',
        '\u0000',
        '<if ',
        '__proto__',
      ),
      fc.string({ maxLength: 4 }),
    ),
    { maxLength: 5 },
  )
  .map((parts) => parts.join(''));

/** JSON values whose strings hold everything that could be taken for the end of a body. */
export const jsonValue: fc.Arbitrary<fc.JsonValue> = fc.letrec<{ value: fc.JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'json' },
    fc.constantFrom(null, true, false),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => (Object.is(number, -0) ? 0 : number)),
    hostileText,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(hostileText, tie('value'), { maxKeys: 3 }),
  ),
})).value;

/** A turn that someone quotes, and the longest run of backticks or tildes in it. */
export const quotation: fc.Arbitrary<{ readonly text: string; readonly longestRun: number }> = turn.map(
  (text) => ({
    text,
    longestRun: Math.max(0, ...(text.match(/`+|~+/g) ?? []).map((run) => run.length)),
  }),
);

/** Never written by the generators above. */
const MARK = '\ue000';
const wholeTag = fc.oneof(
  fc.constantFrom(
    '<thought>',
    '</thought>',
    '<think>',
    '<response>',
    '</response>',
    '<if test="x > 1">',
    '<else/>',
    '</if>',
    '<foreach in="$l">',
    '</foreach>',
    '<parallel id="g">',
    '<parallel/>',
    '</parallel>',
    '<thought/>',
    '<result>',
    '</result>',
    '</action>',
    '<if>',
    '<action>',
    '</thought >',
  ),
  quickAction,
);
const proseAlone = prose.filter((text) => !/^<\/?$/.test(text));

/** A turn in which a mark stands before, between and after whole tags and pieces of prose. */
export const markedTurn = fc
  .array(fc.oneof({ weight: 3, arbitrary: wholeTag }, { weight: 3, arbitrary: proseAlone }, markdown), {
    minLength: 1,
    maxLength: 14,
  })
  .map((fragments) => ({ fragments, mark: MARK, input: `${MARK}${fragments.join(MARK)}${MARK}` }));
