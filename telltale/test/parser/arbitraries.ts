/**
 * Hostile model output: valid tags, nearly valid ones, quotations of both, and the characters on which a
 * parser of them trips. A turn is a list of fragments, so that a failure shrinks to the few that matter.
 */
import fc from 'fast-check';
import type { Place } from '../../src/parser/intents.ts';
import {
  ATTRIBUTE_NAMES,
  ATTRIBUTE_PIECES,
  ATTRIBUTE_VALUES,
  BODY_ENDS,
  BODY_PIECES,
  BRANCH_PIECES,
  CLOSINGS,
  CODE_PIECES,
  ELEMENTS,
  FIELDS,
  GOOD_ATTRIBUTES,
  NOISE,
  ODD_ATTRIBUTES,
  OPENINGS,
  PLAIN_BODIES,
  PROSE,
  QUICK_ACTIONS,
  SEAL,
  STRING_PARTS,
  TEXT_PARTS,
  WHOLE_TAGS,
} from './hostile-pieces.ts';
import type { CaseOptions } from './worked-cases.ts';

const NAMES = ['thought', 'action', 'metadata', 'response', 'if', 'else', 'foreach', 'parallel'] as const;
const RARE_NAMES = ['think', 'thinking', 'result', 'context_feed', 'thoughts', 'Action', 'i'] as const;
const name = fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...NAMES) }, fc.constantFrom(...RARE_NAMES));

const gap = fc.constantFrom('', '', '', ' ', '\n', '\t', '\r\n', '\r', ' \n ');
const space = fc.constantFrom(' ', ' ', '\n', '\t', '  ', '\r\n');
const maybe = (arbitrary: fc.Arbitrary<string>) => fc.oneof(fc.constant(''), arbitrary);
const together = (...parts: fc.Arbitrary<string>[]) => fc.tuple(...parts).map((texts) => texts.join(''));

// ---- Attributes -------------------------------------------------------------------------------------------

const attributeName = fc.constantFrom(...ATTRIBUTE_NAMES);
const attributeValue = fc.constantFrom(...ATTRIBUTE_VALUES);
const quotedValue = fc
  .tuple(attributeValue, fc.constantFrom('"', "'", ''))
  .map(([value, quote]) => `${quote}${value}${quote}`);
const anyAttribute = together(space, attributeName, gap, fc.constant('='), gap, quotedValue);
const goodAttribute = fc.constantFrom(...GOOD_ATTRIBUTES);
const oddAttribute = fc.constantFrom(...ODD_ATTRIBUTES);
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

const wellFormedOpening = fc.constantFrom(...OPENINGS);
const wellFormedClosing = fc.constantFrom(...CLOSINGS);

// ---- Bodies -----------------------------------------------------------------------------------------------

const stringInside = fc.constantFrom(...STRING_PARTS);
const jsonString = fc.array(stringInside, { maxLength: 3 }).map((parts) => `"${parts.join('')}"`);
const field = fc.oneof(
  fc.constantFrom(...FIELDS),
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
const bodyEnd = fc.constantFrom(...BODY_ENDS);
const fence = fc.constantFrom(
  '```',
  '```json',
  '~~~',
  '~~~js',
  '````JSON',
  '``',
  '``` json',
  '```\njson',
  '```a b',
);
const plainBody = fc.constantFrom(...PLAIN_BODIES);
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
const quickAction = fc.constantFrom(...QUICK_ACTIONS);

// ---- Prose and Markdown -------------------------------------------------------------------------------------

const ticks = fc.integer({ min: 1, max: 5 }).map((count) => '`'.repeat(count));
const tildes = fc.integer({ min: 2, max: 5 }).map((count) => '~'.repeat(count));
const prose = fc.constantFrom(...PROSE);
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
    .tuple(fc.constantFrom(...ELEMENTS), tie('inside'))
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

const inAnyOrder = (maxLength: number, ...parts: readonly string[]): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...parts), { maxLength }).map((chosen) => chosen.join(''));

/** Code and the closing tags that still count in it. */
export const codeTurn: fc.Arbitrary<string> = inAnyOrder(16, ...CODE_PIECES);

/** Attributes of every tag, cut up. */
export const attributeTurn: fc.Arbitrary<string> = inAnyOrder(14, ...ATTRIBUTE_PIECES);

/** A body, cut up. */
export const bodyTurn: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom('<action>', '<metadata>', '<thought><action>', '<if test="x"><action id="x">'),
    fc.constantFrom('{', '{', ' {', '```json\n{', '~~~\n{'),
    inAnyOrder(14, ...BODY_PIECES),
    fc.constantFrom('}', '', '"}', '}\n```\n'),
    fc.constantFrom('</action>', '</metadata>', '</action>\n', ''),
    fc.constantFrom('', '<action>{"name":"n"}</action>', 'x</thought>'),
  )
  .map((parts) => parts.join(''));

/** Ids in branches, groups and lists. */
export const branchTurn: fc.Arbitrary<string> = inAnyOrder(20, ...BRANCH_PIECES);

/** Characters that matter, in no order at all. */
export const noise: fc.Arbitrary<string> = fc.string({
  unit: fc.constantFrom(...NOISE),
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

const hostileText: fc.Arbitrary<string> = fc
  .array(fc.oneof(fc.constantFrom(...TEXT_PARTS), fc.string({ maxLength: 4 })), { maxLength: 5 })
  .map((parts) => parts.join(''));

/**
 * None that ends in a backslash: the engine of Node 24 keeps it, and reads the next object's key as that one where it is
 * the same up to there and goes on with an escape (`JSON.parse('{"x":1,"a\\\\":2}')`, then `JSON.parse('{"x":1,"a\\n":2}')`).
 */
const hostileKey = hostileText.filter((text) => !text.endsWith('\\'));

/** JSON values whose strings hold everything that could be taken for the end of a body. */
export const jsonValue: fc.Arbitrary<fc.JsonValue> = fc.letrec<{ value: fc.JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'json' },
    fc.constantFrom(null, true, false),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => (Object.is(number, -0) ? 0 : number)),
    hostileText,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(hostileKey, tie('value'), { maxKeys: 3 }),
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
const wholeTag = fc.oneof(fc.constantFrom(...WHOLE_TAGS), quickAction);
const proseAlone = prose.filter((text) => !/^<\/?$/.test(text));

/** A turn in which a mark stands before, between and after whole tags and pieces of prose. */
export const markedTurn = fc
  .array(fc.oneof({ weight: 3, arbitrary: wholeTag }, { weight: 3, arbitrary: proseAlone }, markdown), {
    minLength: 1,
    maxLength: 14,
  })
  .map((fragments) => ({ fragments, mark: MARK, input: `${MARK}${fragments.join(MARK)}${MARK}` }));
