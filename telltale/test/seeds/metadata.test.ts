import { expect, it } from 'vitest';
import { loadManifests } from '../../src/manifest/load-manifests.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { runAgent, tool } from '../session/run-agent.ts';

/** The constructs of the seed about metadata that the model sets, and workflows that it triggers. */
const AGENT = `kind: Agent
name: coding_agent
version: "1.0"
metadata:
  fields:
    status:
      type: "enum"
      values: ["IDLE", "CODING"]
      default: "IDLE"
import:
  workflows: ["./workflows/*.yml"]
`;

it('a trigger on a value that the enum does not list is an error that says what to add', async () => {
  const { diagnostics } = await loadManifests(['agent.yml'], {
    env: {},
    cwd: temporaryProject({
      'telltale.yml': '# the project\n',
      'agent.yml': AGENT,
      'workflows/alert.yml':
        'kind: Workflow\nname: alert\ntrigger:\n  type: "metadata_match"\n  conditions:\n    status: "ERROR"\nsteps: [{ name: s, type: emit, event: alert }]\n',
    }),
  });
  expect(diagnostics).toMatchObject([
    {
      severity: 'error',
      code: 'never_matches',
      hint: 'Write one of its values, or add "ERROR" to the "values" of the metadata field "status" of the agent "coding_agent".',
    },
  ]);
});

const FIELDS = `metadata:
  fields:
    status:
      type: "enum"
      values: ["IDLE", "CODING"]
      default: "IDLE"
    priority:
      type: "enum"
      values: ["HIGH", "MEDIUM", "LOW"]
      default: "MEDIUM"
    context:
      type: "object"
`;
const THINK = '<thought>Let me see.</thought><response final="false">So far.</response>';
const DONE = '<response>Done.</response>';

it('the method auto shows the fields with their values before every turn, in the words of a template', async () => {
  const template = `  injection:
    method: "auto"
    template: |
      Fields of <metadata>:
      - status: {values} (current: {current_value})
      - context: any object (current: {current_value})
`;
  const turns = [THINK, `<metadata>{"status": "CODING"}</metadata>${THINK}`, THINK, DONE];
  const { prompts } = await runAgent({ manifest: FIELDS + template, turns });
  const shown = (status: string) =>
    `- status: one of "IDLE", "CODING" (current: "${status}")\n- context: any object (current: null)`;
  expect(prompts.map((prompt) => prompt.includes(shown('IDLE')))).toEqual([true, true, false, false]);
  expect(prompts.map((prompt) => prompt.includes(shown('CODING')))).toEqual([false, false, true, true]);
});

it('without a method the values are shown at first, and later those that changed', async () => {
  const turns = [THINK, `<metadata>{"status": "CODING"}</metadata>${THINK}`, THINK, DONE];
  const { prompts } = await runAgent({ manifest: FIELDS, turns });
  expect(prompts.map((prompt) => /^- (?:status|priority): .*$/gm.exec(prompt)?.[0])).toEqual([
    '- status: "IDLE"',
    undefined,
    '- status: "CODING"',
    undefined,
  ]);
});

it('a turn whose metadata was rejected is told the rejected and the current values, not that it had none', async () => {
  const wrong = '<metadata>{"status": "COMPILING", "priority": "CRITICAL"}</metadata>';
  const { prompts } = await runAgent({ manifest: FIELDS, turns: [wrong, DONE] });
  expect(prompts[1]).toContain(`- status: "COMPILING" not in [IDLE, CODING]
- priority: "CRITICAL" not in [HIGH, MEDIUM, LOW]

Current metadata (what was rejected is unchanged):
- status: IDLE
- priority: MEDIUM
- context: null`);
  expect(prompts[1]).toContain('your mistakes say why');
  expect(prompts[1]).not.toContain('no metadata');
});

const MANIFEST = `version: "1.0"
metadata:
  fields:
    status: { type: enum, values: [IDLE, CODING], default: IDLE }
permissions: { environment: [SHOWN] }
import: { tools: [tools/*.yml], workflows: [workflows/*.yml] }
`;
const FILES = {
  ...tool('look', 'return context.agent;', 'idempotent: true\n'),
  'tools/write.yml':
    'kind: Tool\nname: write\nimplementation: { script: "return [agent.thoughts, agent.responses.length, agent.manifest.name]" }\n',
  'workflows/triggered.yml': `kind: Workflow
name: triggered
trigger: { type: metadata_match, conditions: { status: CODING } }
steps: [{ name: look, type: tool, target: look }]
`,
  'workflows/called.yml': 'kind: Workflow\nname: called\nsteps: [{ name: look, type: tool, target: look }]\n',
};
const LOOK = '<action id="look" mode="sync">{"name": "look"}</action>';

it('a tool called by an action sees the agent as a tool of a workflow does', async () => {
  const { of } = await runAgent({
    manifest: MANIFEST,
    files: FILES,
    turns: [
      '<thought>First.</thought><response final="false">Half.</response>',
      `<thought>Second.</thought><metadata>{"status": "CODING"}</metadata>
<action id="flow" type="workflow" mode="sync">{"name": "called"}</action>${LOOK}
<action id="script" mode="sync">{"name": "write"}</action>`,
      '<response>Done.</response>',
    ],
    runtime: { env: { SHOWN: 'yes', HIDDEN: 'no' } },
  });
  const output = (id: string) => of('action.completed').find((each) => each.id === id)?.output as object;
  const seen = {
    agent_name: 'tester',
    iteration_count: 2,
    metadata: { status: 'CODING' },
    tools: ['look', 'write'],
    workflows: ['called', 'triggered'],
    thoughts: ['First.', 'Second.'],
    responses: ['Half.'],
    environment: { SHOWN: 'yes' },
    manifest: { name: 'tester', version: '1.0' },
  };
  expect(output('look')).toMatchObject(seen);
  expect(output('flow')).toMatchObject(seen);
  expect(Object.keys(output('look')).toSorted()).toEqual(Object.keys(output('flow')).toSorted());
  expect(output('look')).not.toHaveProperty('environment.HIDDEN');
  expect(output('script')).toEqual([['First.', 'Second.'], 1, 'tester']);
});

it('a session that was resumed still shows its tools what it had said', async () => {
  let resumed: readonly unknown[] = [];
  await runAgent({
    manifest: `${MANIFEST}limits: { turns: 1 }\n`,
    files: FILES,
    turns: ['<thought>First.</thought><response final="false">Half.</response>'],
    after: async (id, runtime) => {
      const model = scripted(['', `<thought>Second.</thought>${LOOK}`, '<response>Done.</response>']);
      const session = await runtime.resume(id, { model, maxTurns: 3 });
      await session.result;
      resumed = await runtime.events(id);
    },
  });
  expect(resumed).toContainEqual(
    expect.objectContaining({
      type: 'action.completed',
      output: expect.objectContaining({ thoughts: ['First.', 'Second.'], responses: ['Half.'] }),
    }),
  );
});
