import { type LabTool, labFolder } from './lab-tools.ts';
import { action, text } from './say.ts';

const ITEMS = ['ant', 'bee', 'cat'];

/** Ten that may run again after a crash and ten that may not; four of them are programs of their own. */
export const LAB_TOOLS: readonly LabTool[] = [true, false].flatMap((idempotent) =>
  Array.from({ length: 10 }, (_, index): LabTool => {
    const n = index + 1;
    return {
      name: `${idempotent ? 'keep' : 'once'}_${n}`,
      idempotent,
      kind: n >= 9 ? 'command' : 'module',
      ms: 3 + 4 * (n % 6),
      ...(idempotent && n === 1 ? { gives: ITEMS } : {}),
    };
  }),
);

const TURNS: readonly string[] = [
  [
    '<thought>First I look at what there is, then I begin with the small things.</thought>',
    action('k1', 'keep_1', text('list'), 'sync'),
    action('o1', 'once_1', text('$k1[0]')),
    action('k2', 'keep_2', { ...text('after $o1'), depends_on: ['o1'] }),
    '<metadata>{"stage":"BEGUN","count":1}</metadata>',
    action('o2', 'once_2', { ...text('two'), output_key: 'second' }),
    '<response final="false">I have begun with $k1 and $second.</response>',
  ].join('\n'),
  [
    'Now several things side by side.',
    '<parallel id="g">',
    action('k3', 'keep_3', text('three')),
    action('o3', 'once_3', text('three')),
    action('o4', 'once_4', text('four')),
    '</parallel>',
    `<foreach in="$k1" as="item">${action('each', 'keep_4', text('$item'))}</foreach>`,
    action('o5', 'once_5', text('nobody waits'), 'fire_and_forget'),
    action('k5', 'keep_5', text('nobody waits'), 'fire_and_forget'),
    action('k6', 'keep_6', { ...text('behind all'), depends_on: ['g', 'each'] }),
    '<metadata>{"stage":"HALF","count":2}</metadata>',
  ].join('\n'),
  [
    '<thought>A chain, and the programs.',
    action('o6', 'once_6', text('$k6')),
    action('k7', 'keep_7', { ...text('chain'), depends_on: ['o6'], output_key: 'chained' }),
    'It goes on behind it.</thought>',
    action('o7', 'once_7', { ...text('$chained'), depends_on: ['k7'] }),
    action('k8', 'keep_8', text('$o7')),
    action('k9', 'keep_9', {}, 'sync'),
    action('o9', 'once_9'),
    '<response final="false">The chain has come to $k8, and the program said $k9.</response>',
    '<metadata>{"stage":"LATE","count":3}</metadata>',
  ].join('\n'),
  [
    action('o8', 'once_8', text('eight'), 'sync'),
    action('o10', 'once_10', { depends_on: ['o9'] }),
    action('k10', 'keep_10'),
  ].join('\n'),
];

/** Every result that the agent waits for. */
const NAMED: readonly string[] = [
  'k1',
  'o1',
  'k2',
  'o2',
  'k3',
  'o3',
  'o4',
  'each',
  'k6',
  'o6',
  'k7',
  'o7',
  'k8',
  'k9',
  'o9',
  'o8',
  'o10',
  'k10',
];

const FINAL = `<response>${NAMED.map((id) => `${id} is $${id}.`).join('\n')}</response>`;

/** Turns with the final response once more, for when it is undone. */
const SPARE = 40;

export const LAB_SCRIPT: readonly string[] = [
  ...TURNS.slice(0, -1),
  `${TURNS.at(-1)}\n${FINAL}`,
  ...Array.from({ length: SPARE }, () => FINAL),
];

/** A whole run takes a good second at this pace. */
const TOKENS_PER_SECOND = 750;

export const makeLabAgent = (): string =>
  labFolder(LAB_TOOLS, { turns: LAB_SCRIPT, tokens_per_second: TOKENS_PER_SECOND });
