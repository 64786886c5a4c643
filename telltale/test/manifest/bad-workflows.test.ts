// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the manifests under test hold such references
import { describe, expect, it, vi } from 'vitest';
import { formatDiagnostic } from '../../src/manifest/format-diagnostic.ts';
import { loadManifests } from '../../src/manifest/load-manifests.ts';
import { temporaryProject } from './temporary-project.ts';

/** Some fifty projects, one after the other, perhaps on a busy machine. */
vi.setConfig({ testTimeout: 60_000 });

type Files = Readonly<Record<string, string>>;

const AGENT = `kind: Agent
name: coder
model: x/y
metadata:
  fields:
    status: { values: [IDLE, CODING, DEBUGGING], default: IDLE }
    progress: { type: number, min: 0, max: 100 }
    note: { type: string }
    tags: { type: array, items: { type: string } }
    context: { type: object }
context_variables: { runtime: [{ name: attempts, type: number, default: 0 }] }
import: { workflows: [./w/*.yml], tools: [builtin:git] }
`;
const STEP = 'steps: [{ name: log, type: tool, target: git, parameters: {} }]\n';

/** What `telltale validate` says of a workflow that the agent above imports. */
async function said(workflow: string, files: Files = {}): Promise<string> {
  const all = {
    'package.json': '{}',
    'agent.yml': AGENT,
    'w/flow.yml': `kind: Workflow\nname: flow\n${workflow}`,
    ...files,
  };
  const agents = Object.keys(all).filter((file) => /^\w+\.yml$/.test(file));
  const { diagnostics } = await loadManifests(agents, { env: {}, cwd: temporaryProject(all) });
  return diagnostics.map((each) => `${formatDiagnostic(each)}\n`).join('\n');
}

const metadata = (map: string) => `trigger: { type: metadata_match, conditions: ${map} }\n${STEP}`;
const variable = (map: string) => `trigger: { type: variable_match, conditions: ${map} }\n${STEP}`;
const test = (source: string, type = 'metadata_match') =>
  `trigger: { type: ${type}, test: '${source}' }\n${STEP}`;
const onPhase = (map: string): readonly [string, Files] => [
  metadata(map),
  {
    'agent.yml': AGENT.replace(
      'context: { type: object }',
      'context: { type: object, schema: { properties: { phase: { enum: [a, b] }, at: { type: object, properties: { line: { type: integer } }, additionalProperties: false } } } }',
    ),
  },
];
const set = (values: string, type = 'set_metadata') =>
  `steps: [{ name: s, type: ${type}, values: ${values} }]\n`;
const call = (target: string) => `steps: [{ name: s, type: workflow, target: ${target} }]\n`;
const steps = (...list: readonly string[]) => `steps:\n${list.map((each) => `  - { ${each} }\n`).join('')}`;
const states = (...list: readonly string[]) =>
  `initial: draft\nstates:\n${list.map((each) => `  ${each}\n`).join('')}`;
const derived = (list: string): Files => ({
  'agent.yml': AGENT.replace('runtime: [', `derived: [${list}], runtime: [`),
});
const other: Files = {
  'other.yml': AGENT.replace('name: coder', 'name: writer').replace('CODING, DEBUGGING', 'WRITING'),
};

type Mistake = readonly [mistake: string, workflow: string, files?: Files];

const TRIGGERS: readonly Mistake[] = [
  [
    'two webhooks of one name',
    `triggers: [{ type: webhook, hook: push, secret: a }, { type: webhook, hook: push, secret: b }]\n${STEP}`,
  ],
  ['a field that the agent does not declare', metadata('{ staus: CODING }')],
  ['the same deep inside', metadata('{ any: [{ status: IDLE }, { not: { phase: x } }] }')],
  ['the same in CEL', `trigger: { type: metadata_match, test: "metadata.prgress > 3.0" }\n${STEP}`],
  ['a value not in the enum', metadata('{ status: CODNIG }')],
  ['a number for an enum', metadata('{ status: [IDLE, 3] }')],
  ['a comparison of an enum with a number', metadata('{ status: { gt: 3 } }')],
  ['text for a number', metadata('{ progress: HIGH }')],
  ['a comparison of a number with text', metadata('{ progress: { gt: "50" } }')],
  ['a value out of range', metadata('{ progress: { not: 150 } }')],
  ['a comparison of text with a number', metadata('{ note: { gte: 5 } }')],
  ['a pattern for a number', metadata('{ progress: { matches: "^C" } }')],
  ['one value for a list', metadata('{ tags: urgent }')],
  ['an item of another type', metadata('{ tags: { contains: 7 } }')],
  ['a look inside an enum', metadata('{ status: { phase: x } }')],
  ['a path into an enum', metadata('{ status.phase: x }')],
  ['a change to what is not in the enum', metadata('{ status: { from: IDLE, to: CODDING } }')],
  ['a variable that nobody declares', variable('{ atempts: 3 }')],
  ['a variable of another type', variable('{ attempts: many }')],
  ['a value that one of two agents has: a warning for the other', metadata('{ status: CODING }'), other],
  [
    'a variable in CEL that is not declared, and may be given at the start: a warning',
    test('vars.attempt > 3'),
  ],
  ['the same as a bare name', test('attempt > 3', 'variable_match')],
  [
    'a field in the test of an event',
    `trigger: { type: event, event: fault, test: "metadata.statu == 'IDLE'" }\n${STEP}`,
  ],
  ['an enum that CEL compares with a number', test('metadata.status > 3')],
  ['the same from the other side', test('3 < metadata.status || progress')],
  ['a value in CEL that is not in the enum', test('metadata.status == "CODNIG"')],
  ['what a field is never, so that it always holds: a warning', test('metadata.status != "CODNIG"')],
  ['a variable that CEL compares with text', test('attempts == "many"', 'variable_match')],
  ['a value that the schema of a field does not have', ...onPhase('{ context.phase: c }')],
  ['the same in a map', ...onPhase('{ context: { phase: { not: [a, c] } } }')],
  ['text for a number of a schema', ...onPhase('{ context.at.line: { gt: "3" } }')],
  ['a key that the schema of a field does not allow', ...onPhase('{ context.at.lien: 3 }')],
  [
    'a field that the event does not have',
    `trigger: { type: event, event: action.failed, match: { any: [{ eror.code: x }] } }\n${STEP}`,
  ],
  [
    'the same in CEL',
    `trigger: { type: event, event: child.response, test: 'event.text == "done"' }\n${STEP}`,
  ],
  ['a day that no such month has', `trigger: { type: schedule, cron: "0 0 31 2 *" }\n${STEP}`],
  ['the same in a list', `trigger: { type: schedule, cron: "0 0 31 4,6,9-11/2 *" }\n${STEP}`],
  [
    'a trigger that cancels when it should fire',
    `trigger: { type: metadata_match, conditions: { status: IDLE }, fire: on_exit, cancel_on_exit: true }\n${STEP}`,
  ],
  [
    'a second limit of what is started by hand: a warning',
    `triggers: [{ type: manual, concurrency: { max: 1 } }, { type: manual }, { type: manual, concurrency: { max: 2 } }]\n${STEP}`,
  ],
];

const STEPS: readonly Mistake[] = [
  ['a field to set that the agent does not declare', set('{ statsu: IDLE }')],
  ['values to set that the fields cannot have', set('{ status: BUSY, progress: 101 }')],
  [
    'a reference to a field that the agent does not declare',
    steps('name: s, type: notify, message: "It is ${agent.metadata.statu} now."'),
  ],
  [
    'the same with something else in its place: a warning',
    steps('name: s, type: notify, message: "It is ${agent.metadata.statu ?? agent.variables.attempt} now."'),
  ],
  ['a variable to set that nobody declares', set('{ atempts: 1 }', 'set_variable')],
  ['a tool that is not there', steps('name: s, type: tool, target: gti')],
  ['a workflow that is not there', call('flwo')],
  [
    'workflows that call each other in a circle',
    call('next'),
    { 'w/next.yml': `kind: Workflow\nname: next\n${call('flow')}` },
  ],
  ['a workflow that calls itself', call('flow')],
  [
    'a circle of needs',
    steps('name: a, type: tool, target: git, needs: [b]', 'name: b, type: tool, target: git, needs: [a]'),
  ],
  ['two steps of one name', steps('name: a, type: tool, target: git', 'name: a, type: tool, target: git')],
  ['a jump to a step that is not there', steps('name: a, type: tool, target: git, on_error: goto cleanup')],
  [
    'a loop without a most number of rounds',
    steps('name: a, type: loop, while: "true", body: [{ name: b, type: tool, target: git }]'),
  ],
  [
    'a decision without a fallback',
    steps('name: a, type: tool, target: git, if: { invoke: gate, method: ok }'),
  ],
  [
    'an artifact that is not there yet: a warning',
    steps('name: a, type: tool, target: git, if: { invoke: gate, method: ok, fallback: true }'),
  ],
  [
    'fallbacks of hooks that are no answers',
    `hooks: { before_action: [{ command: [check], fallback: 7 }], after_action: [{ command: [x], fallback: { refuse: no } }] }\n${STEP}`,
  ],
  ['a hook without a fallback', `hooks: { before_action: [{ command: [check] }] }\n${STEP}`],
];

const PROGRAMS: readonly Mistake[] = [
  ['a program that is a reference', steps('name: s, type: script, command: ["${input.program}", x]')],
  ['no program at all', steps('name: s, type: script, command: ["", x]')],
  ['a script that is none', steps('name: s, type: script, script: "return ("')],
  [
    'a hook with a reference',
    `hooks: { before_action: [{ command: [check, "${'${vars.attempts}'}"], fallback: true }] }\n${STEP}`,
  ],
  [
    'a method that the artifact lacks',
    steps('name: s, type: script, script: "1", if: { invoke: gate, method: may_strat, fallback: true }'),
    {
      'agent.yml': AGENT.replace('tools:', 'artifacts: [./gate.yml], tools:'),
      'gate.yml':
        'kind: Artifact\nname: gate\nmethods: { may_start: {} }\nsource: "export const may_start = () => true"\n',
    },
  ],
];

const STATES: readonly Mistake[] = [
  ['a state that cannot be reached', states('draft: { final: true }', 'lost: { final: true }')],
  [
    'a transition to a state that is not there',
    states('draft: { transitions: [{ to: publised }] }', 'published: { final: true }'),
  ],
  ['a state without a way out', states('draft: { steps: [{ name: a, type: tool, target: git }] }')],
  [
    'a state whose only way out is never taken',
    states('draft: { transitions: [{ to: done, condition: "false" }] }', 'done: { final: true }'),
  ],
  [
    'a transition_map to a state that is not there',
    states(
      'draft: { steps: [{ name: t, type: transition, prompt: Well?, transition_map: { good: done, bad: redo } }] }',
      'done: { final: true }',
    ),
  ],
];

const VARIABLES: readonly Mistake[] = [
  [
    "an approval that goes by a variable in the hand of the agent's model",
    steps('name: ask, type: approval, prompt: "Go on after ${vars.attempts}?", if: "attempts > 3"'),
  ],
  [
    'derived variables that define each other',
    STEP,
    derived('{ name: a, expression: b }, { name: b, expression: "!a" }'),
  ],
  [
    'a derived variable that waits for a field which the event does not have',
    STEP,
    derived('{ name: a, triggers: [{ type: event, event: fault, match: { kode: x } }] }'),
  ],
  [
    'a derived variable that waits for what a field never is',
    STEP,
    derived('{ name: a, triggers: [{ type: metadata_match, conditions: { status: DONE } }] }'),
  ],
];

describe('what a person reads about', () => {
  it.each([
    ['triggers', TRIGGERS],
    ['steps', STEPS],
    ['programs', PROGRAMS],
    ['states', STATES],
    ['variables', VARIABLES],
  ])('%s that cannot be right', async (name, mistakes) => {
    let page = '';
    for (const [mistake, workflow, files] of mistakes) {
      const text = await said(workflow, files);
      expect(text, mistake).not.toBe('');
      page += `# ${mistake}\n\n${text}\n`;
    }
    await expect(page).toMatchFileSnapshot(`golden/bad-${name}.txt`);
  });
});

describe('nothing is said of', () => {
  it.each<[string, string, Files?]>([
    [
      "an approval that tells of a model's variable, or goes by one that the model cannot write",
      steps('name: ask, type: approval, prompt: "Go on after ${vars.attempts}?", if: "release"'),
      {
        'agent.yml': AGENT.replace(
          'runtime: [',
          'runtime: [{ name: release, type: boolean, default: true, writers: [user] }, ',
        ),
      },
    ],
    [
      'conditions that can hold',
      metadata(
        '{ context: { phase: 1 }, context.a.b: x, note: null, progress: { gte: 0, lt: 5 }, tags: { contains: a }, status: { not: IDLE, matches: "^C" } }',
      ),
    ],
    [
      'tests that can hold',
      test(
        'metadata.status == "IDLE" && metadata.status != null && 3 <= attempts && vars.attempts > 1.5 && metadata.progress == 50 && ["a"].exists(status, status == "b") && metadata.context.phase == "x" && string(attempts) != "many"',
      ),
    ],
    [
      'what a schema leaves open',
      ...onPhase('{ context.phase: [a, null], context.else: 3, context.at.line: { gte: 3 } }'),
    ],
    [
      'days that come some year, or by the day of the week',
      `triggers: [{ type: schedule, cron: "0 0 29 2 *" }, { type: schedule, cron: "0 0 31 2 MON" }, { type: schedule, cron: "0 0 31 * ?" }, { type: schedule, cron: "0 0 31 4-5 *" }, { type: schedule, cron: "0 0 */30 2 *" }]\n${STEP}`,
    ],
    [
      'references to what is there',
      steps(
        'name: s, type: notify, message: "${agent.metadata.status} ${agent.variables.attempts} ${agent.metadata}"',
      ),
    ],
    ['variables that are there', variable('{ attempts: { gte: 3 } }')],
    ['values that only a run knows', set('{ status: "${input.status}", note: null }')],
    [
      "a workflow's own variables",
      `context_variables: { runtime: [{ name: own }] }\n${set('{ own: [1] }', 'set_variable')}`,
    ],
  ])('%s', async (_, workflow, files) => {
    expect(await said(workflow, files)).toBe('');
  });

  it('workflows that call each other in a row', async () => {
    expect(await said(call('next'), { 'w/next.yml': `kind: Workflow\nname: next\n${STEP}` })).toBe('');
  });
});
