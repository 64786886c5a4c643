import type { AgentDetails } from '../../telltale/src/client/api.ts';

const CODER = `kind: Agent
name: coder
description: Changes code in a repository, with tests, docs and a changelog kept in step.
model: scripted:transcript.yml
instructions: |
  You change code. Declare your status as you go.
metadata:
  status: { type: enum, values: [PLANNING, READING, CODING, TESTING, REVIEWING, DONE] }
tools: [read_file, write_file, shell]
workflows: [docs.yml, changelog.yml]
`;

const BROKEN = `kind: Agent
name: researcher
description: Looks things up, and says where it found them.
modle: anthropic:claude
instructions: |
  Answer with sources.
limits:
  turns: many
`;

export const fixtureAgents = (now: number): readonly AgentDetails[] => [
  {
    name: 'coder',
    path: 'agents/coder/agent.yml',
    model: 'scripted:transcript.yml',
    usable: true,
    description: 'Changes code in a repository, with tests, docs and a changelog kept in step.',
    workflows: ['docs', 'changelog'],
    loadedAt: now - 120_000,
    problems: [],
    examples: ['Add a --json flag to the export command.'],
    models: [{ model: 'anthropic/claude-sonnet-4-5', from: 'provider' }],
    manifest: {
      name: 'coder',
      context_variables: {
        defined: [{ name: 'style', default: 'concise', description: 'How the user likes answers' }],
        runtime: [{ name: 'attempts', default: 0 }],
      },
    },
    files: [
      { path: 'agents/coder/agent.yml', text: CODER },
      { path: 'agents/coder/docs.yml', text: 'kind: Workflow\nname: docs\nsteps: []\n' },
    ],
  },
  {
    name: 'researcher',
    path: 'agents/researcher/agent.yml',
    model: 'anthropic:claude',
    usable: true,
    description: 'Looks things up, and says where it found them.',
    models: [],
    examples: [],
    workflows: [],
    loadedAt: now - 3_600_000,
    manifest: { name: 'researcher', model: 'anthropic:claude' },
    files: [{ path: 'agents/researcher/agent.yml', text: BROKEN }],
    problems: [
      {
        file: 'agents/researcher/agent.yml',
        line: 4,
        column: 1,
        severity: 'error',
        code: 'key_unknown',
        message: 'An agent has no key "modle".',
        hint: 'Did you mean "model"?',
      },
      {
        file: 'agents/researcher/agent.yml',
        line: 8,
        column: 10,
        severity: 'error',
        code: 'bad_value',
        message: '"many" is no whole number.',
        hint: 'Give a number from 1 on, such as 20.',
      },
    ],
  },
  {
    name: 'release-manager',
    path: 'agents/release/agent.yml',
    model: 'openai:gpt',
    usable: false,
    models: [],
    examples: [],
    workflows: [],
    loadedAt: now,
    manifest: null,
    files: [{ path: 'agents/release/agent.yml', text: 'kind: Agent\n  name: x\n' }],
    problems: [
      {
        file: 'agents/release/agent.yml',
        line: 2,
        column: 3,
        severity: 'error',
        code: 'yaml',
        message: 'A key is indented deeper than its neighbours.',
      },
    ],
  },
];
