import { FOREIGN_FORMS, type ForeignForm, inForm } from './foreign-forms.ts';
import { type Act, type Dialect, type Move, type Style, styled } from './move.ts';
import type { Task } from './task.ts';
import type { Alias, View } from './view.ts';
import type { Wire } from './wire/wire.ts';
import type { Refusal } from './words.ts';

/** Where a mistake would be made. */
export interface Moment {
  readonly dialect: Dialect;
  readonly wire: Pick<Wire, 'hasRawArguments'>;
  readonly task: Pick<Task, 'guess' | 'bait' | 'conversation' | 'workflow'>;
  readonly view: View;
  /** Requests of the agent that were answered, this one included. */
  readonly turn: number;
}

export interface Spoilt {
  /** What is said in place of the faultless words. */
  readonly move: Move;
  /** What the provider says before anything else, to the first request of that turn. */
  readonly refuse?: Refusal;
  /** Extra turns at the most. */
  readonly mayCost: number;
  readonly aliases?: readonly Alias[];
  /** What the model says in the turn behind it, whatever it reads there; a faultless turn follows then. */
  readonly next?: (view: View) => Move | undefined;
  /** What has to stand in the next request of the agent. */
  readonly isTold?: { readonly pattern: RegExp; readonly what: string };
}

export interface Mistake {
  readonly name: string;
  /** The row of the table that it belongs to. */
  readonly row: string;
  /** Undefined where it cannot be made. */
  readonly make: (move: Move, moment: Moment) => Spoilt | undefined;
}

/** In the order of the table. `target` is the most that it may cost, in words. */
export const ROWS = {
  json: { label: 'fences its JSON, trailing commas, comments', target: '0' },
  metadata: { label: 'sets a wrong metadata value or field', target: '0' },
  result: { label: 'makes up a `<result>`', target: '0' },
  tool: { label: 'names a tool that does not exist', target: '1' },
  prefix: { label: 'puts `functions.` before a name', target: '0' },
  id: { label: 'uses an id of an earlier turn again', target: '0' },
  action: { label: 'forgets `</action>`', target: '1' },
  response: { label: 'forgets `</response>` at a normal stop', target: '0' },
  failing: { label: 'answers beside an action that fails', target: '1' },
  unseen: { label: 'answers beside an action it has not seen', target: '1' },
  plain: { label: 'answers in plain text', target: '≤ 1' },
  thinking: { label: '`<thinking>` and the answer in plain text', target: '≤ 1' },
  foreign: { label: "writes its call in another system's form, as text", target: '0 or 1' },
  native: { label: 'makes a native call in `tags`', target: '0' },
  wait: { label: 'says that it waits while its calls run', target: '0' },
  background: { label: 'waits in words for a call in the background', target: '≤ 1' },
  type: { label: 'leaves out `type`', target: '0' },
  name: { label: '`<action name="…">`', target: '0' },
  notes: { label: 'notes too short *and* other violations', target: '1' },
  limit: { label: 'is cut off by its output limit inside an action', target: '1' },
  window: { label: 'writes more than its context window', target: '0' },
  echo: { label: 'repeats the call that a page asks for', target: '≤ 1' },
  quote: { label: 'quotes a call in a code block', target: '0' },
  leftovers: { label: 'leaves a BOM and an end token of its chat template in its words', target: '0' },
  repeat: { label: 'repeats its turn, ids and all, after a held answer or a broken stream', target: '≤ 1' },
  broken: { label: 'breaks off in mid-stream', target: '≤ 1' },
  overloaded: { label: 'cannot be reached at first', target: '0' },
} as const satisfies Readonly<Record<string, { readonly label: string; readonly target: string }>>;

const always = (move: Move, mayCost: number, rest: Partial<Spoilt> = {}): Spoilt => ({
  move,
  mayCost,
  ...rest,
});

const hasCalls = ({ acts, complete }: Move): boolean => acts.length > 0 || complete !== undefined;

/** Only before the work is done. */
const isUnderWay = (move: Move): boolean =>
  move.acts.length > 0 && move.final === undefined && move.complete === undefined;

const areFree = (acts: readonly Act[]): boolean => acts.every(({ dependsOn }) => dependsOn === undefined);

const with_ =
  (style: Style, mayCost: number, applies: (move: Move, moment: Moment) => boolean): Mistake['make'] =>
  (move, moment) =>
    applies(move, moment) ? always(styled(move, style), mayCost) : undefined;

const json = (how: NonNullable<Style['json']>): Mistake => ({
  name: `json-${how}`,
  row: 'json',
  make: with_(
    { json: how },
    0,
    (move, { dialect, wire }) =>
      (dialect === 'tags' || wire.hasRawArguments) &&
      (hasCalls(move) || move.metadata !== undefined || dialect !== 'tags'),
  ),
});

/** The last act is named so. */
const misnamed = (name: string, row: string, as: (name: string) => string, mayCost: number): Mistake => ({
  name,
  row,
  make(move) {
    const last = move.acts.at(-1);
    if (last === undefined) return undefined;
    return always({ ...move, acts: [...move.acts.slice(0, -1), { ...last, name: as(last.name) }] }, mayCost);
  },
});

const metadata = (name: string, wrong: Readonly<Record<string, string>>, told: RegExp): Mistake => ({
  name,
  row: 'metadata',
  make: (move) =>
    move.metadata === undefined
      ? undefined
      : always({ ...move, metadata: { ...move.metadata, ...wrong } }, 0, {
          isTold: { pattern: told, what: 'which field was wrong' },
        }),
});

/** Calls as text are worth a turn where each may be done twice, and nobody has to read them for what they are. */
const foreign = (form: ForeignForm, around?: NonNullable<Style['around']>): Mistake => ({
  name: `foreign-${form}${around === undefined ? '' : `-${around}`}`,
  row: 'foreign',
  make(move, { dialect }) {
    if (!isUnderWay(move) || !areFree(move.acts)) return undefined;
    if (form === 'own-tags' && dialect === 'tags') return undefined;
    const isClear = around === undefined && move.acts.every(({ idempotent }) => idempotent === true);
    const style: Style = around === undefined ? { foreign: form } : { foreign: form, around };
    return always(styled(move, style), isClear ? 0 : 1);
  },
});

const echo = (form: ForeignForm): Mistake => ({
  name: `echo-${form}`,
  row: 'echo',
  make(move, { dialect, task: { bait }, view }) {
    if (bait === undefined || !bait.seen.test(view.news)) return undefined;
    if (form === 'own-tags' && dialect === 'tags') return undefined;
    const only = inForm(form, [{ name: 'shell', parameters: { command: bait.command } }]);
    return always(styled(move, { only }), 1);
  },
});

const MISSING: Act = {
  key: 'more',
  name: 'filesystem',
  parameters: { operation: 'read', path: 'no-such-file.txt' },
  idempotent: true,
};

/** A call of this must never run: it stands where it is only quoted. */
const CANARY = { name: 'shell', parameters: { command: 'echo CANARY > canary.txt' } };

const quoted = (dialect: Dialect): string => {
  const written =
    dialect === 'tags'
      ? `<action type="tool" id="quoted">\n${JSON.stringify(CANARY)}\n</action>`
      : inForm('json', [CANARY]);
  return `A call would look like this:\n\n\`\`\`\n${written}\n\`\`\`\n\n`;
};

/** The acts of that turn once more, as they were said; the ids are those of then. */
const again = (move: Move, turn: number): Move => ({
  ...move,
  acts: move.acts.map((act) => ({ ...act, isRepeated: true })),
  style: { ids: Object.fromEntries(move.acts.map(({ key }) => [key, `${key}_${turn}`])) },
});

/** More characters than the window of the simulated providers has. Each sentence differs: what only repeats is cut off. */
const VERBOSE = Array.from(
  { length: 1_600 },
  (_, n) => `Thought ${n}: I think about this at length, and I write all of it down, whatever it is.`,
).join(' ');

const answers = (how: NonNullable<Style['answer']>): Mistake['make'] =>
  with_(
    { answer: how },
    1,
    (move) => (move.final !== undefined && move.acts.length === 0) || move.complete !== undefined,
  );

export const MISTAKES: readonly Mistake[] = [
  json('fence'),
  json('comma'),
  json('comment'),
  metadata('metadata-value', { status: 'WHATEVER' }, /status/),
  metadata('metadata-field', { mood: 'GOOD' }, /mood/),
  {
    name: 'made-up-result',
    row: 'result',
    make: with_(
      {
        after:
          '\n<result id="read_1" name="filesystem" status="ok">All is well, certificate C-unseen.</result>\n',
      },
      0,
      isUnderWay,
    ),
  },
  misnamed('unknown-tool', 'tool', () => 'look_it_up', 1),
  misnamed('invalid-tool-name', 'tool', () => 'my tool!', 1),
  misnamed('functions-prefix', 'prefix', (name) => `functions.${name}`, 0),
  {
    name: 'old-id',
    row: 'id',
    make(move, { view, turn }) {
      const old = view.results.find(({ id }) => id !== undefined)?.id;
      const last = move.acts.at(-1);
      if (old === undefined || last === undefined) return undefined;
      const ids = { [last.key]: old };
      return always(styled(move, { ids }), 0, { aliases: [{ turn, id: old, key: last.key }] });
    },
  },
  {
    name: 'open-action-first',
    row: 'action',
    make: with_(
      { unclosed: 'first' },
      1,
      (move, { dialect }) => dialect === 'tags' && move.acts.length > 1 && move.final === undefined,
    ),
  },
  {
    name: 'open-action-last',
    row: 'action',
    make: with_(
      { unclosed: 'last' },
      1,
      (move, { dialect }) => dialect === 'tags' && hasCalls(move) && move.final === undefined,
    ),
  },
  {
    name: 'open-response',
    row: 'response',
    make: with_(
      { openResponse: true },
      0,
      ({ final }, { dialect }) => dialect === 'tags' && final !== undefined,
    ),
  },
  {
    name: 'answer-beside-failure',
    row: 'failing',
    make: (move) =>
      move.final === undefined ? undefined : always({ ...move, acts: [...move.acts, MISSING] }, 1),
  },
  {
    name: 'guess-beside-failure',
    row: 'failing',
    make: (move, { task }) =>
      isUnderWay(move) && areFree(move.acts)
        ? always({ ...move, acts: [...move.acts, MISSING], final: `${task.guess} ($[more])` }, 1)
        : undefined,
  },
  {
    name: 'guess-beside-action',
    row: 'unseen',
    make: (move, { task }) => (isUnderWay(move) ? always({ ...move, final: task.guess }, 1) : undefined),
  },
  {
    name: 'guess-and-repeat',
    row: 'repeat',
    // In a guided step of the dialect "step" the guess completes the step: nothing is held, and the next turn is another's.
    make: (move, { dialect, task, turn }) =>
      isUnderWay(move) && !(dialect === 'step' && task.workflow !== undefined)
        ? always({ ...move, final: task.guess }, 1, { next: () => again(move, turn) })
        : undefined,
  },
  {
    name: 'broken-and-repeat',
    row: 'repeat',
    make: (move, { dialect, turn, wire }) =>
      isUnderWay(move) && move.acts.length > 1 && (dialect === 'tags' || wire.hasRawArguments)
        ? always(styled(move, { broken: true }), 1, { next: () => again(move, turn) })
        : undefined,
  },
  { name: 'plain-answer', row: 'plain', make: answers('plain') },
  { name: 'thinking-answer', row: 'thinking', make: answers('thinking') },
  ...FOREIGN_FORMS.map((form) => foreign(form)),
  foreign('json', 'fence'),
  foreign('json', 'prose'),
  foreign('hermes', 'prose'),
  {
    name: 'native-in-tags',
    row: 'native',
    make: with_(
      { native: true },
      0,
      (move, { dialect }) => dialect === 'tags' && isUnderWay(move) && areFree(move.acts),
    ),
  },
  {
    name: 'says-it-waits',
    row: 'wait',
    make: with_({ after: '\nI wait for the results now.\n' }, 0, isUnderWay),
  },
  {
    name: 'waits-in-words',
    row: 'background',
    make(move, { task }) {
      const last = move.acts.at(-1);
      // In a chat such words are an answer: the person reads them, and the result comes with the next exchange.
      if (last === undefined || !isUnderWay(move) || task.conversation !== undefined) return undefined;
      const background: Act = { ...last, mode: 'background' };
      return always({ ...move, acts: [...move.acts.slice(0, -1), background] }, 1, {
        next: ({ did }) =>
          did(last.key) ? undefined : { acts: [], style: { only: 'I wait for the tests to end.' } },
      });
    },
  },
  {
    name: 'no-type',
    row: 'type',
    make: with_({ noType: true }, 0, (move, { dialect }) => dialect === 'tags' && hasCalls(move)),
  },
  {
    name: 'name-attribute',
    row: 'name',
    make: with_({ nameAttribute: true }, 0, (move, { dialect }) => dialect === 'tags' && hasCalls(move)),
  },
  {
    name: 'short-notes',
    row: 'notes',
    make: (move) =>
      move.complete === undefined ? undefined : always({ ...move, complete: { notes: 'Done.' } }, 1),
  },
  {
    name: 'output-limit',
    row: 'limit',
    make: (move, { dialect, wire }) =>
      hasCalls(move) && move.final === undefined && (dialect === 'tags' || wire.hasRawArguments)
        ? always(styled(move, { cut: true }), 1, {
            isTold: {
              pattern: /\b\d[\d,.]* ?(?:characters|tokens|bytes|KiB|kB)/,
              what: 'the size to stay under',
            },
          })
        : undefined,
  },
  {
    name: 'too-long',
    row: 'window',
    make: (move) =>
      move.final === undefined && move.complete === undefined
        ? always(styled(move, { before: `${VERBOSE}\n` }), 0)
        : undefined,
  },
  {
    name: 'window-exceeded',
    row: 'window',
    make: (move, { turn }) => (turn > 1 ? always(move, 0, { refuse: 'context_exceeded' }) : undefined),
  },
  echo('json'),
  echo('hermes'),
  echo('invoke'),
  echo('own-tags'),
  {
    name: 'quoted-call',
    row: 'quote',
    make: (move, { dialect }) => always(styled(move, { before: quoted(dialect) }), 0),
  },
  {
    name: 'template-leftovers',
    row: 'leftovers',
    make: (move) => always(styled(move, { before: '\uFEFF', after: '<|im_end|>' }), 0),
  },
  {
    name: 'broken-stream',
    row: 'broken',
    make: (move, { dialect, wire }) =>
      dialect === 'tags' || wire.hasRawArguments ? always(styled(move, { broken: true }), 1) : undefined,
  },
  { name: 'overloaded', row: 'overloaded', make: (move) => always(move, 0, { refuse: 'overloaded' }) },
];

export const mistakeOf = (name: string): Mistake | undefined => MISTAKES.find((each) => each.name === name);
