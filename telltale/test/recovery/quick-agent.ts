import { type LabTool, labFolder } from './lab-tools.ts';
import { action, text } from './say.ts';

const keep = (name: string, more: Partial<LabTool> = {}): LabTool => ({
  name,
  idempotent: true,
  kind: 'module',
  ms: 1,
  ...more,
});
const once = (name: string, more: Partial<LabTool> = {}): LabTool => ({
  ...keep(name, more),
  idempotent: false,
});

export const QUICK_TOOLS: readonly LabTool[] = [
  keep('list', { gives: ['x', 'y'] }),
  keep('copy'),
  keep('flaky', { fails: 'once' }),
  keep('broken', { fails: 'always' }),
  once('send'),
  once('write'),
  once('undo'),
  once('publish', { start: 'on_turn_end' }),
];

const FINAL = ['l', 's', 'c', 'each', 'f', 'p1', 'p2', 'i'].map((id) => `${id} is $${id}.`).join('\n');

/** A few of everything, as quick as it can be: what it passes is what crash points are taken from. */
export const QUICK_SCRIPT: readonly string[] = [
  [
    'I begin with prose. <thought>Then I think.</thought>',
    action('l', 'list'),
    action('s', 'send', { ...text('$l[1]'), output_key: 'sent' }),
    action('c', 'copy', { ...text('$sent'), depends_on: ['s'] }),
    action('pub', 'publish', text('at the end')),
    '<metadata>{"stage":"BEGUN"}</metadata>',
    '<metadata>{"stage":"NOWHERE"}</metadata>',
    `<foreach in="$l" as="item">${action('each', 'copy', text('$item'))}</foreach>`,
    'A List<action> is text, and a mistake.',
    `<response final="false">So far $c.</response>`,
  ].join('\n'),
  [
    action('f', 'flaky', { retry: 2 }),
    action('b', 'broken'),
    action('skip', 'copy', { ...text('never'), depends_on: ['b'] }),
    '<parallel id="g">',
    action('p1', 'copy', text('one')),
    action('p2', 'send', text('two')),
    '</parallel>',
    `<if test="metadata.stage == 'BEGUN'">${action('i', 'copy', text('held'))}</if>`,
    action('w', 'write', { compensate: { name: 'undo' } }, 'sync'),
    '<action id="rb" type="internal" mode="sync">{"name":"rollback","parameters":{"to":"w"}}</action>',
    action('ff', 'send', text('nobody waits'), 'fire_and_forget'),
  ].join('\n'),
  ...Array.from({ length: 6 }, () => `<response>${FINAL}</response>`),
];

/** Some eighty characters between two pauses: enough for what one batch of the log would hide. */
const TOKENS_PER_SECOND = 20_000;

export const makeQuickAgent = (): string =>
  labFolder(
    QUICK_TOOLS,
    { turns: QUICK_SCRIPT, tokens_per_second: TOKENS_PER_SECOND },
    'budget: { balance: 100, costs: { turn: 1, action: 1 } }',
  );
