import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { action, text } from '../recovery/say.ts';
import { JOURNAL_MODULE } from './journal.ts';
import { ITEMS, LAB_TOOLS, toolFiles } from './lab-tool.ts';

/** The agents of the lab, by file. */
export const LAB_AGENTS: readonly string[] = ['lab.yml', 'talker.yml', 'asker.yml', 'caller.yml'];

export const HOOK = 'poke';
export const HOOK_SECRET = 'secret of the lab';
/** How often the schedule is due. */
export const TICK_MS = 2_000;

const keep = (name: string, said: string, target = 'keep') => ({
  name,
  type: 'tool',
  target,
  parameters: { text: said },
});
/** In doubt after a fault it fails, and the run goes on without it. */
const once = (name: string, said: string, target = 'once') => ({
  ...keep(name, said, target),
  on_error: 'continue',
});
const wait = (name: string, ms: number) => ({ name, type: 'wait', for: `${ms}ms` });
const event = (name: string, token: string) => ({
  name,
  type: 'wait',
  event: 'custom',
  match: { name: token },
});
const said = (name: string) => `${name} \${steps.${name}.output ?? 'lost'}`;

/** Longer than a run is held for: it is let go of, and taken up again by whoever. */
const LONG_WAIT_MS = 1_300;

const CHAIN = [
  keep('first', 'the items', 'list'),
  once('pay', `for \${steps.first.output[0]}`, 'once_slow'),
  {
    name: 'sides',
    type: 'parallel',
    branches: [
      [keep('left', 'left', 'keep_slow'), once('left_once', 'left'), wait('left_wait', 90)],
      [once('right_once', 'right'), wait('right_wait', 60), keep('right', 'right')],
      [{ ...keep('shaky', 'a try', 'keep_shaky'), retry: { max: 6, backoff: '40ms' } }],
    ],
  },
  {
    name: 'each',
    type: 'foreach',
    in: `\${steps.first.output}`,
    as: 'animal',
    body: [keep('feed', `\${animal}`), wait('digest', 25), once('count', `\${animal}`)],
  },
  wait('nap', LONG_WAIT_MS),
  { name: 'below', type: 'workflow', target: 'below', parameters: { of: `\${steps.first.output[1]}` } },
  keep('tool', 'a program', 'keep_program'),
  once('program', 'a program', 'once_program'),
  keep('report', ['left', 'right', 'shaky', 'pay', 'program'].map(said).join(', ')),
];

const BELOW = [
  keep('sub_keep', `\${input.of}`),
  wait('sub_wait', 80),
  once('sub_once', `\${input.of}`, 'once_slow'),
  keep('sub_end', `\${steps.sub_keep.output}`),
];

/** One signal comes before the run asks for it, one when it has been let go of. */
const SIGNALS = [
  keep('opened', 'a box', 'keep_slow'),
  event('early', 'go'),
  once('counted', `\${steps.early.output.data.word}`),
  event('late', 'stop'),
  keep('closed', `\${steps.late.output.data.word} \${steps.opened.output}`),
];

const APPROVAL = [
  keep('drawn', 'a plan'),
  { name: 'ask', type: 'approval', prompt: 'Build it?', options: ['build', 'drop'] },
  once('built', `\${steps.ask.output.choice}`, 'once_slow'),
  keep('opened', `\${steps.ask.output.choice}`),
];

const SMALL = [keep('small_keep', 'small'), once('small_once', 'small'), keep('small_end', 'small')];

const workflow = (name: string, steps: readonly object[], triggers: readonly object[] = []) => ({
  kind: 'Workflow',
  name,
  ...(triggers.length === 0 ? {} : { triggers }),
  steps,
});

/** A line for each action: `check-messages.ts` finds there which of them came to nothing. */
function answerOf(...ids: readonly string[]): string {
  return ids.map((id) => `${id} is $${id}.`).join('\n');
}

const TALK: readonly string[] = [
  [
    '<thought>First I look at what there is.</thought>',
    action('k1', 'list', text('all'), 'sync'),
    action('o1', 'once_slow', text('$k1[0]')),
    action('k2', 'keep', { ...text('after {{o1}}'), depends_on: ['o1'] }),
    '<metadata>{"stage":"BEGUN"}</metadata>',
    '<response final="false">I have begun with $k1.</response>',
  ].join('\n'),
  [
    'Now several things side by side.',
    '<parallel id="g">',
    action('k3', 'keep_slow', text('three')),
    action('o3', 'once', text('three')),
    '</parallel>',
    `<foreach in="$k1" as="item">${action('each', 'keep', text('$item'))}</foreach>`,
    '<metadata>{"stage":"HALF"}</metadata>',
    action('k4', 'keep', { ...text('behind all'), depends_on: ['g', 'each'] }),
    action('w1', 'aside', { parameters: { of: 'talk' } }).replace('<action', '<action type="workflow"'),
  ].join('\n'),
  [
    action('o5', 'once_program'),
    action('k5', 'keep', { ...text('chain'), depends_on: ['o5'] }),
    action('k6', 'keep_slow', text('$k5'), 'sync'),
    `<response>${answerOf('k1', 'o1', 'k2', 'k3', 'o3', 'each', 'k4', 'w1', 'o5', 'k5', 'k6')}</response>`,
  ].join('\n'),
];

const ASK: readonly string[] = [
  [action('k1', 'keep', text('one')), action('g1', 'guarded', { ...text('two'), depends_on: ['k1'] })].join(
    '\n',
  ),
  [action('o1', 'once', text('$g1'), 'sync'), `<response>${answerOf('k1', 'g1', 'o1')}</response>`].join(
    '\n',
  ),
];

/** Waits with the agent that it calls, and is let go of with it. */
const CALL: readonly string[] = [
  [
    action('k1', 'keep_slow', text('one')),
    '<action type="agent" id="a1">{"name": "asker", "parameters": {"input": "Ask them."}}</action>',
    '<response>$k1 $a1</response>',
  ].join('\n'),
];

/** The last turn again, for when a final response is undone. */
const SPARE = 40;
const TOKENS_PER_SECOND = 600;
const script = (turns: readonly string[]) => {
  const last = turns.at(-1) ?? '';
  const final = last.slice(last.indexOf('<response>'));
  return JSON.stringify({
    turns: [...turns, ...Array.from({ length: SPARE }, () => final)],
    tokens_per_second: TOKENS_PER_SECOND,
  });
};

const agent = (name: string, more: object = {}) => ({
  kind: 'Agent',
  name,
  model: `scripted:${name}-script.yml`,
  import: { tools: ['./tools/*.yml'] },
  ...more,
});
const stages = { values: ['NEW', 'BEGUN', 'HALF'], default: 'NEW' };
const documents = (...all: readonly object[]) => all.map((one) => `---\n${JSON.stringify(one)}\n`).join('');

const FILES: Readonly<Record<string, string>> = {
  'lab.yml': documents(
    agent('lab'),
    workflow('chain', CHAIN),
    workflow('below', BELOW),
    workflow('signals', SIGNALS),
    workflow('approval', APPROVAL),
    workflow('tick', SMALL, [{ type: 'schedule', every: `${TICK_MS}ms`, missed: 'once' }]),
    workflow('hooked', SMALL, [{ type: 'webhook', hook: HOOK, secret: HOOK_SECRET }]),
  ),
  'talker.yml': documents(
    agent('talker', { metadata: { fields: { stage: stages } } }),
    workflow('followup', SMALL, [{ type: 'metadata_match', conditions: { stage: 'HALF' } }]),
    workflow('aside', BELOW),
  ),
  'asker.yml': documents(agent('asker')),
  'caller.yml': documents(agent('caller', { import: { tools: ['./tools/*.yml'], agents: ['./asker.yml'] } })),
  'lab-script.yml': JSON.stringify({ turns: ['Nobody asks.'] }),
  'talker-script.yml': script(TALK),
  'asker-script.yml': script(ASK),
  'caller-script.yml': script(CALL),
  'tools/journal.mjs': JOURNAL_MODULE,
};

/** Which tool a step calls, by workflow and name. */
export const LAB_STEPS: Readonly<Record<string, ReadonlyMap<string, string>>> = {
  chain: toolsOf(CHAIN),
  below: toolsOf(BELOW),
  aside: toolsOf(BELOW),
  signals: toolsOf(SIGNALS),
  approval: toolsOf(APPROVAL),
  tick: toolsOf(SMALL),
  hooked: toolsOf(SMALL),
  followup: toolsOf(SMALL),
};

function toolsOf(steps: unknown, found = new Map<string, string>()): ReadonlyMap<string, string> {
  if (Array.isArray(steps)) for (const step of steps) toolsOf(step, found);
  else if (typeof steps === 'object' && steps !== null) {
    const { type, name, target, ...rest } = steps as Record<string, unknown>;
    if (type === 'tool') found.set(String(name), String(target));
    else toolsOf(Object.values(rest), found);
  }
  return found;
}

/** What each gives on a quiet day. */
export const LAB_ANSWERS: ReadonlyMap<string, string> = new Map([
  [
    'chain',
    'keep:left keep_slow:left, right keep:right, shaky keep_shaky:a try, pay once_slow:for ant, program once_program:',
  ],
  ['signals', 'keep:five keep_slow:a box'],
  ['approval', 'keep:build'],
  ['tick', 'keep:small'],
  ['hooked', 'keep:small'],
  ['followup', 'keep:small'],
  [
    'talker',
    [
      'k1 is ["ant","bee"].',
      'o1 is once_slow:ant.',
      'k2 is keep:after once_slow:ant.',
      'k3 is keep_slow:three.',
      'o3 is once:three.',
      'each is ["keep:ant","keep:bee"].',
      'k4 is keep:behind all.',
      'w1 is keep:keep:talk.',
      'o5 is once_program:.',
      'k5 is keep:chain.',
      'k6 is keep_slow:keep:chain.',
    ].join('\n'),
  ],
  ['asker', 'k1 is keep:one.\ng1 is guarded:two.\no1 is once:guarded:two.'],
]);

/** Writes the lab's agents, workflows and tools into a folder; the journal will be there, too. */
export function writeLabProject(folder: string): void {
  const files = Object.assign({}, FILES, ...LAB_TOOLS.map(toolFiles)) as Record<string, string>;
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
}

/**
 * What has to have ended before what, within one log: ids of actions, or the last parts of steps' addresses. Rounds of a
 * `foreach` are held apart by what stands in front of those.
 */
export const LAB_ORDER: Readonly<Record<string, readonly (readonly [first: string, then: string])[]>> = {
  chain: [
    ...(['left', 'right_once', 'shaky'] as const).map((then) => ['pay', then] as const),
    ['first', 'pay'] as const,
    ['left', 'left_once'] as const,
    ['right_once', 'right'] as const,
    ['left_wait', 'feed'] as const,
    ['right', 'feed'] as const,
    ['feed', 'count'] as const,
    ['nap', 'below'] as const,
    ['below', 'tool'] as const,
    ['program', 'report'] as const,
    ['tool', 'program'],
  ],
  below: [
    ['sub_keep', 'sub_once'],
    ['sub_once', 'sub_end'],
  ],
  aside: [
    ['sub_keep', 'sub_once'],
    ['sub_once', 'sub_end'],
  ],
  signals: [
    ['opened', 'counted'],
    ['counted', 'closed'],
  ],
  approval: [
    ['drawn', 'built'],
    ['built', 'opened'],
  ],
  tick: [
    ['small_keep', 'small_once'],
    ['small_once', 'small_end'],
  ],
  hooked: [['small_keep', 'small_once']],
  followup: [['small_once', 'small_end']],
  talker: [
    ['k1', 'o1'] as const,
    ['o1', 'k2'] as const,
    ['k3', 'k4'] as const,
    ['o3', 'k4'] as const,
    ...ITEMS.map((_, index) => [`each[${index}]`, 'k4'] as const),
    ['o5', 'k5'],
    ['k5', 'k6'],
  ],
  asker: [
    ['k1', 'g1'],
    ['g1', 'o1'],
  ],
};
