import fc from 'fast-check';

/** A piece of a turn; `#` stands for an id of its own, `@` for that of some action before it. */
type Piece = fc.Arbitrary<string>;

const MODES = ['', '', ' mode="async"', ' mode="sync"', ' mode="fire_and_forget"'];

const action: Piece = fc
  .tuple(
    fc.constantFrom(...MODES),
    fc.constantFrom('keep', 'keep', 'once'),
    fc.constantFrom('', '', ',"parameters":{"text":"$@"}', ',"depends_on":["@"]'),
  )
  .map(([mode, name, rest]) => `<action id="#"${mode}>{"name":"${name}"${rest}}</action>`);

const prose: Piece = fc.constantFrom('So. ', 'I look at it.\n', '\n\n', 'It costs $5 & more ', 'a < b ');

/** Text, though it looks like a tag for a while, and code. */
const half: Piece = fc.constantFrom(
  '<acti',
  '<thought about ',
  'a List<action> ',
  '</acti ',
  '`<action id="q">{"name":"keep"}</action>` ',
  '\n```\n<action id="q">{"name":"keep"}</action>\n```\n',
);

/** What puts the rest of a turn in doubt. */
const doubt: Piece = fc.constantFrom(
  '<if>',
  '<else/>',
  '<action id="q">{"name": "keep" ',
  '<foreach as="x">',
);

const metadata: Piece = fc
  .constantFrom('NEW', 'BEGUN')
  .map((stage) => `<metadata>{"stage":"${stage}"}</metadata>`);

const response: Piece = fc
  .constantFrom('Half way.', 'It is $@.', 'See `<action>`.')
  .map((text) => `<response final="false">${text}</response>`);

const some = (piece: Piece, most: number): Piece =>
  fc.array(piece, { maxLength: most }).map((pieces) => pieces.join(''));

const TESTS = ['true', 'false', "metadata.stage == 'BEGUN'", '1 < 0', 'nothing.like.it'];

const simple: Piece = fc.oneof(
  { weight: 5, arbitrary: action },
  { weight: 2, arbitrary: prose },
  { weight: 1, arbitrary: half },
  { weight: 1, arbitrary: metadata },
  { weight: 1, arbitrary: fc.constant('<thought>Well.</thought>') },
);

const { inside } = fc.letrec<{
  inside: string;
  thought: string;
  branch: string;
  group: string;
  loop: string;
}>((tie) => ({
  inside: fc.oneof(
    { maxDepth: 2 },
    { weight: 4, arbitrary: simple },
    { weight: 1, arbitrary: tie('thought') },
    { weight: 2, arbitrary: tie('branch') },
    { weight: 1, arbitrary: tie('group') },
    { weight: 1, arbitrary: tie('loop') },
  ),
  thought: some(tie('inside'), 2).map((text) => `<thought>Hm. ${text}</thought>`),
  branch: fc
    .tuple(fc.constantFrom(...TESTS), some(tie('inside'), 3), fc.option(some(tie('inside'), 2)))
    .map(
      ([test, then, other]) => `<if test="${test}">${then}${other === null ? '' : `<else/>${other}`}</if>`,
    ),
  group: fc
    .tuple(fc.boolean(), some(simple, 3))
    .map(([named, text]) => `<parallel${named ? ' id="#"' : ''}>${text}</parallel>`),
  loop: some(simple, 2).map((text) => `<foreach in="$list" as="x">${text}</foreach>`),
}));

const piece: Piece = fc.oneof(
  { weight: 12, arbitrary: inside },
  { weight: 2, arbitrary: response },
  { weight: 1, arbitrary: doubt },
);

/** Turns of a script, the last of them a response with all that is named. */
export const turns: fc.Arbitrary<readonly string[]> = fc
  .array(fc.array(piece, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 3 })
  .map((written) => {
    const ids: string[] = [];
    const named = (text: string) =>
      text.replace(/id="#"( mode="fire_and_forget")?|@/g, (found, forgotten) => {
        if (found === '@') return ids[(7 * ids.length) % 5] ?? ids.at(-1) ?? 'list';
        ids.push(`i${ids.length + 1}`);
        return `id="${ids.at(-1)}"${forgotten ?? ''}`;
      });
    const said = written.map((pieces) => named(pieces.join('')));
    return [
      ...said,
      ...FINALS.map(() => `<response>All of it: ${ids.map((id) => `$${id}`).join(' ')}.</response>`),
    ];
  });

/** Where it is undone it is said again. */
const FINALS = [1, 2, 3, 4, 5, 6];
