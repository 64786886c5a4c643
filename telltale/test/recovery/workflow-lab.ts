import { type LabTool, labFolder } from './lab-tools.ts';

const ITEMS = ['ant', 'bee', 'cat'];

/** Those that may be done again after a crash and those that may not; two are programs of their own, two fail once. */
export const WORKFLOW_TOOLS: readonly LabTool[] = [
  { name: 'list', idempotent: true, kind: 'module', ms: 8, gives: ITEMS },
  { name: 'keep', idempotent: true, kind: 'module', ms: 15 },
  { name: 'once', idempotent: false, kind: 'module', ms: 12 },
  { name: 'keep_program', idempotent: true, kind: 'command', ms: 10 },
  { name: 'once_program', idempotent: false, kind: 'command', ms: 10 },
  { name: 'keep_shaky', idempotent: true, kind: 'module', ms: 6, fails: 'once' },
  { name: 'once_shaky', idempotent: false, kind: 'module', ms: 6, fails: 'once' },
];

const keep = (name: string, text: string, target = 'keep') => ({
  name,
  type: 'tool',
  target,
  parameters: { text },
});
/** In doubt after a crash it fails, and the run goes on without it. */
const once = (name: string, text: string, target = 'once') => ({
  ...keep(name, text, target),
  on_error: 'continue',
});
const wait = (name: string, ms: number) => ({ name, type: 'wait', for: `${ms}ms` });
const said = (name: string) => `${name} \${steps.${name}.output ?? 'lost'}`;
const retry = { max: 4, backoff: '40ms' };

const stepsWith = (napMs: number) => [
  keep('first', 'the items', 'list'),
  once('pay', `for \${steps.first.output[0]}`),
  {
    name: 'sides',
    type: 'parallel',
    branches: [
      [keep('left', 'left'), once('left_once', 'left'), wait('left_wait', 60)],
      [once('right_once', 'right'), wait('right_wait', 40), keep('right', 'right')],
      [keep('shaky', 'a try', 'keep_shaky'), once('shaky_once', 'a try', 'once_shaky')].map((step) => ({
        ...step,
        retry,
      })),
    ],
  },
  {
    name: 'each',
    type: 'foreach',
    in: `\${steps.first.output}`,
    as: 'animal',
    max_parallel: 2,
    body: [keep('feed', `\${animal}`), wait('digest', 15), once('count', `\${animal}`)],
  },
  wait('nap', napMs),
  { name: 'below', type: 'workflow', target: 'below', parameters: { of: `\${steps.first.output[1]}` } },
  {
    name: 'subs',
    type: 'foreach',
    in: ['x', 'y'],
    body: [{ name: 'sub', type: 'workflow', target: 'below', parameters: { of: `\${item}` } }],
  },
  keep('tool', 'a program', 'keep_program'),
  once('program', 'a program', 'once_program'),
  keep('report', ['left', 'right', 'shaky', 'pay', 'shaky_once', 'program'].map(said).join(', ')),
];

const BELOW = [
  keep('sub_keep', `\${input.of}`),
  wait('sub_wait', 50),
  once('sub_once', `\${input.of}`),
  keep('sub_end', `\${steps.sub_keep.output}`),
];

const workflow = (name: string, steps: readonly object[]) =>
  `---\n${JSON.stringify({ kind: 'Workflow', name, steps })}\n`;

/** A whole run takes a good second. With a nap of more than one it is let go of meanwhile, and taken up again. */
export const makeWorkflowLab = (napMs = 70): string =>
  labFolder(
    WORKFLOW_TOOLS,
    { turns: ['Nobody asks.'] },
    [workflow('lab', stepsWith(napMs)), workflow('below', BELOW)].join(''),
  );

/** The runs that a whole run consists of: its own, and those that it calls. */
export const LAB_RUNS = (run: string): readonly string[] => [
  run,
  ...['below', 'subs[0]/sub', 'subs[1]/sub'].map((step) => `${run}.${step}`),
];
