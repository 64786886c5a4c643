import { expect, it } from 'vitest';
import type { RunEvent } from '../../src/log/run-event.ts';
import { loadManifests } from '../../src/manifest/load-manifests.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { runAgent, tool } from '../agent/run-agent.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';

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

const FINALIZE = `kind: Workflow
name: code_finalization
trigger:
  type: "metadata_match"
  conditions:
    status: "CODING"
    priority: ["HIGH", "MEDIUM"]
    context:
      phase: "implementation"
  match_all: true
steps:
  - name: "update_documentation"
    type: "agent"
    target: "doc_generator"
    parameters:
      project_name: "\${agent.metadata.context.project}"
      current_phase: "\${agent.metadata.context.phase}"
      session_id: "\${agent.session_id}"
      iteration: "\${agent.iteration_count}"
      available_tools: "\${agent.tools}"
  - name: "update_changelog"
    type: "tool"
    target: "changelog_updater"
    parameters:
      workspace: "\${agent.workspace_path}"
      status: "\${agent.metadata.status}"
  - name: "git_commit"
    type: "tool"
    target: "git"
    parameters:
      message: "Auto-commit from \${agent.agent_name} session \${agent.session_id}"
    condition: "previous_steps_success"
`;

const CODING = (context: object) =>
  `<metadata>${JSON.stringify({ status: 'CODING', context })}</metadata>
<thought>That starts the workflows.</thought>
<action type="tool" mode="async" id="edit">{"name": "file_editor", "parameters": {"path": "a.ts"}}</action>
<response final="false">So far.</response>`;

async function finalizing(turns: readonly string[], changelog = 'return input;') {
  let runs: readonly RunEvent[][] = [];
  const ran = await runAgent({
    manifest: `version: "1.0"
${FIELDS}import: { tools: [tools/*.yml], workflows: [finalize.yml], agents: [doc.yml] }
`,
    files: {
      ...tool('file_editor', 'return true;'),
      ...tool('changelog_updater', changelog),
      ...tool('git', 'return input;'),
      'doc.yml': 'kind: Agent\nname: doc_generator\nmodel: scripted:doc.json\n',
      'doc.json': JSON.stringify({
        turns: [
          {
            expect: ['project_name: cortex', 'current_phase: implementation', 'iteration: 1', 'file_editor'],
            text: '<response>Written.</response>',
          },
        ],
      }),
      'finalize.yml': FINALIZE,
    },
    turns,
    after: async (session, runtime) => {
      await runtime.workflows.idle();
      const events = await runtime.events(session);
      const ids = events.flatMap((event) => (event.type === 'trigger.fired' ? [event.run] : []));
      runs = await Promise.all(ids.map(async (run) => [...(await runtime.workflows.events(run))]));
    },
  });
  return { ran, runs };
}

const CONTEXT = { project: 'cortex', phase: 'implementation', task: 'metadata_system' };

it('what the model declares triggers a workflow beside it, whose steps see all of the agent', async () => {
  const { ran, runs } = await finalizing([CODING(CONTEXT), DONE]);
  expect(ran.of('metadata.changed')).toMatchObject([
    { changes: { status: { from: 'IDLE', to: 'CODING' }, context: { to: CONTEXT } } },
  ]);
  expect(ran.of('action.completed').map(({ id }) => id)).toEqual(['edit']);
  const outputs = runs.flat().flatMap((event) => (event.type === 'step.completed' ? [event.output] : []));
  expect(outputs).toEqual([
    'Written.',
    { workspace: ran.folder, status: 'CODING' },
    { message: `Auto-commit from tester session ${ran.result.session}` },
  ]);
});

it.each<[string, string]>([
  ['a value of a nested object', CODING({ phase: 'planning' })],
  ['a value that is not in the list', `<metadata>{"priority": "LOW"}</metadata>${CODING(CONTEXT)}`],
])('all conditions have to match: %s does not', async (_, turn) => {
  expect((await finalizing([turn, DONE])).runs).toEqual([]);
});

it('values stay until they are changed, and an update names only what it changes', async () => {
  const context = `<metadata>${JSON.stringify({ context: CONTEXT })}</metadata>${THINK}`;
  const { ran, runs } = await finalizing([context, THINK, '<metadata>{"status": "CODING"}</metadata>', DONE]);
  expect(runs).toHaveLength(1);
  expect(ran.of('trigger.fired')).toMatchObject([{ turn: 3 }]);
});

it('a step with the condition previous_steps_success waits for the others, and no failure reaches the agent', async () => {
  const { ran, runs } = await finalizing([CODING(CONTEXT), DONE], 'throw new Error("no");');
  const [events = []] = runs;
  expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining(['step.failed', 'step.skipped']));
  expect(ran.result.status).toBe('completed');
});

it('all types of fields are checked, and an unknown field changes nothing', async () => {
  const manifest = `metadata:
  fields:
    mode: { values: [RESEARCHING, WRITING] }
    note: { type: string }
    count: { type: number }
    ready: { type: boolean }
    context: { type: object }
    tags: { type: array }
`;
  const good = {
    mode: 'WRITING',
    note: 'any text',
    count: 3.14,
    ready: true,
    context: { a: { b: 1 } },
    tags: ['x'],
  };
  const bad = { mode: 'X', note: 1, count: 'x', ready: 'x', context: [], tags: {}, stray: 1 };
  const { of, prompts } = await runAgent({
    manifest,
    turns: [good, bad].map((update) => `<metadata>${JSON.stringify(update)}</metadata>${THINK}`).concat(DONE),
  });
  expect(of('metadata.changed')).toHaveLength(1);
  expect(Object.keys(of('metadata.changed')[0]?.changes ?? {})).toEqual(Object.keys(good));
  for (const field of Object.keys(bad)) expect(prompts[2]).toContain(`- ${field}: `);
});

it('a workflow sets metadata, which triggers another one, and an action goes by it', async () => {
  const { of, events } = await runAgent({
    manifest: `${FIELDS}import: { tools: [tools/*.yml], workflows: [flows/*.yml] }\n`,
    files: {
      ...tool('note', 'return input.text;'),
      'flows/first.yml':
        'kind: Workflow\nname: first\nsteps: [{ name: s, type: set_metadata, values: { priority: HIGH } }]\n',
      'flows/second.yml':
        'kind: Workflow\nname: second\ntrigger: { type: metadata_match, conditions: { priority: HIGH } }\nsteps: [{ name: s, type: notify, message: Alert }]\n',
    },
    turns: [
      '<metadata>{"status": "CODING"}</metadata><action id="set" type="workflow" mode="sync">{"name": "first"}</action><action id="yes" mode="sync">{"name": "note", "parameters": {"text": "1"}, "if": "metadata.status == \'CODING\'"}</action><action id="no">{"name": "note", "if": "metadata.status == \'IDLE\'"}</action>',
      DONE,
    ],
    after: (_, runtime) => runtime.workflows.idle(),
  });
  expect(of('action.completed').map(({ id }) => id)).toEqual(['set', 'yes']);
  expect(of('action.skipped')).toMatchObject([{ id: 'no', reason: 'if' }]);
  expect(events.filter(({ type }) => type === 'trigger.fired')).toMatchObject([{ workflow: 'second' }]);
});
