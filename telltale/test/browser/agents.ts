import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tool } from '../agent/run-agent.ts';

const FIELDS = `metadata:
  fields:
    status: { type: enum, values: [IDLE, PLANNING, CODING, TESTING], default: IDLE }
    note: { type: string, default: "" }
`;

/** An agent that says what it is told, and its script, as files. */
export const agent = (name: string, script: Script, more = ''): Readonly<Record<string, string>> => ({
  [`${name}.agent.yml`]: `kind: Agent
name: ${name}
model: scripted:./${name}.turns.yml
${FIELDS}import: { tools: ["./tools/*.yml"], workflows: ["./${name}.*.flow.yml"] }
permissions: { sandbox: "off" }
${more}`,
  [`${name}.turns.yml`]: JSON.stringify(script),
});

export interface Script {
  readonly tokens_per_second?: number;
  /** Characters that come at a time. */
  readonly chunk?: number;
  readonly turns: readonly string[];
}

export const call = (id: string, name: string, parameters: object = {}): string =>
  `<action id="${id}">${JSON.stringify({ name, parameters })}</action>`;

/** Tools: one answers with what it is given, one asks a person first, one waits until the test opens it (`openGate`). */
export const TOOLS: Readonly<Record<string, string>> = {
  ...tool('echo', 'return input;', 'idempotent: true\n'),
  ...tool('deploy', 'return `to ${input.to}`;', 'approval: always\n'),
  ...tool(
    'gate',
    `const { existsSync } = await import('node:fs');
     const file = new URL(\`../gates/\${input.name}\`, import.meta.url);
     while (!existsSync(file) && !context.signal.aborted) await new Promise((next) => setTimeout(next, 20));
     return 'open';`,
    'idempotent: true\n',
  ),
};

/** Lets the calls of `gate` with that name go on, now and from now on. */
export function openGate(folder: string, name: string): void {
  mkdirSync(join(folder, 'gates'), { recursive: true });
  writeFileSync(join(folder, 'gates', name), '');
}

/** Works for a moment and is done. */
export const WORKER = agent(
  'worker',
  {
    turns: [
      `<metadata>{"status":"PLANNING"}</metadata>
<thought>I look before I leap.</thought>
${call('look', 'echo', { at: 'the shore' })}
<metadata>{"status":"CODING"}</metadata>
<response>Leapt from $look.at.</response>`,
    ],
  },
  'description: Leaps once it has looked.\n',
);

/** Asks before it deploys, and takes a no. */
export const ASKER = agent(
  'asker',
  {
    turns: [
      `<thought>Better ask.</thought>${call('d', 'deploy', { to: 'production' })}<response>Deployed: $d</response>`,
      '<response>It was not to be.</response>',
    ],
  },
  'context_variables: { runtime: [{ name: careful, type: boolean, default: true, description: Whether to ask twice }] }\n',
);

/** Is guided by a workflow that asks a person before its one task. */
export const GUIDED: Readonly<Record<string, string>> = {
  ...agent(
    'guided',
    {
      turns: [
        `<response>Shipped.</response>
<action type="internal">{"name": "complete_step", "parameters": {"notes": "The version has shipped, after a person said that it may."}}</action>`,
      ],
    },
    'workflow: with_care\n',
  ),
  'guided.with_care.flow.yml': `kind: Workflow
name: with_care
steps:
  - { name: allow, type: approval, prompt: May it ship? }
  - { name: ship, type: task, prompt: Ship it. }
`,
};

/** Triggers a workflow that calls another, whose second one asks, and calls a sub-agent whose tool has to be approved. */
export const NESTED: Readonly<Record<string, string>> = {
  ...agent('nested', {
    turns: [
      `<metadata>{"status": "CODING"}</metadata>
<action type="agent" id="help">{"name": "asker", "parameters": {"input": "Help."}}</action>
<response>Helped: $help</response>`,
    ],
  }),
  'nested.agent.yml': (agent('nested', { turns: [] })['nested.agent.yml'] ?? '').replace(
    'import: {',
    'import: { agents: [./asker.agent.yml],',
  ),
  'nested.outer.flow.yml': `kind: Workflow
name: outer
triggers: [{ type: metadata_match, conditions: { status: CODING } }]
steps: [{ name: first, type: workflow, target: middle }]
`,
  'nested.middle.flow.yml':
    'kind: Workflow\nname: middle\nsteps: [{ name: next, type: workflow, target: inner }]\n',
  'nested.inner.flow.yml':
    'kind: Workflow\nname: inner\nsteps: [{ name: allow, type: approval, prompt: May the inner one go on? }]\n',
};

/** Says that its task is done, which its check refuses: a person has to decide. */
export const DISPUTED: Readonly<Record<string, string>> = {
  ...agent(
    'disputed',
    {
      turns: [
        `<action type="internal">{"name": "complete_step", "parameters": {"notes": "I fixed the two failing tests and ran them again, they pass."}}</action>`,
      ],
    },
    'workflow: checked\n',
  ),
  'disputed.checked.flow.yml': `kind: Workflow
name: checked
steps:
  - name: fix
    type: task
    prompt: Fix the failing tests.
    verify: { command: [node, -e, "console.error('2 tests failed'); process.exit(1)"], max_retries: 0 }
`,
};

/** Takes its time: a person can talk to it, stop it, and have it go on. */
export const SLOW = agent('slow', {
  tokens_per_second: 40,
  turns: [
    ...Array.from(
      { length: 30 },
      (_, at) =>
        `<metadata>{"status":"${at % 2 === 0 ? 'PLANNING' : 'CODING'}"}</metadata>
<thought>Part ${at + 1} wants to be done with care, one word after the other.</thought>
${call(`part${at + 1}`, 'echo', { part: at + 1 })}
<response final="false">Part ${at + 1} is done.</response>`,
    ),
    '<response>All is done.</response>',
  ],
});

/** Says a great deal, and stops after each of its eight parts until its gate is open: `NAME-0` to `NAME-7`. */
export const parts = (name: string): Readonly<Record<string, string>> =>
  agent(name, {
    turns: [
      ...Array.from(
        { length: 8 },
        (_, turn) =>
          `<metadata>{"status":"${turn % 2 === 0 ? 'CODING' : 'TESTING'}"}</metadata>
${Array.from({ length: 15 }, (_, at) => call(`t${turn}a${at}`, 'echo', { text: `${turn} ${at}` })).join('\n')}
<thought>${'On it goes, and on. '.repeat(12)}</thought>
${call(`gate${turn}`, 'gate', { name: `${name}-${turn}` })}
<response final="false">Part ${turn}: $gate${turn}.</response>`,
      ),
      '<response>That was all.</response>',
    ],
  });
