import { describe, expect, it } from 'vitest';
import { loadManifests } from '../../src/manifest/load-manifests.ts';
import { temporaryProject } from './temporary-project.ts';

async function said(agent: string, workflow: string): Promise<readonly string[]> {
  const cwd = temporaryProject({
    'package.json': '{}',
    'a.yml': `kind: Agent\nname: a\nmodel: x/y\nimport: { workflows: [./w.yml] }\n${agent}`,
    'w.yml': `kind: Workflow\nname: w\n${workflow}`,
  });
  const { diagnostics } = await loadManifests(['a.yml'], { env: {}, cwd });
  return diagnostics.map(({ severity, code, line, column }) => `${severity} ${code} ${line}:${column}`);
}

const FIELDS = 'metadata: { fields: { status: { values: [A, B], default: A } } }\n';
const MACHINE = `initial: one
states:
  one:
    steps: [{ name: s, type: task, prompt: "At \${agent.iteration_count}", if: "agent.metadata.status == 'B'" }]
    transitions: [{ to: two, condition: "metadata.status == 'B'" }, { to: two }]
  two: { final: true }
`;

describe('a workflow that leads the sessions of an agent', () => {
  it('is warned where it reads what the session has only later: what it sees is from its beginning', async () => {
    expect(await said(`workflow: w\n${FIELDS}`, MACHINE)).toEqual([
      'warning as_it_began 6:48',
      'warning as_it_began 6:80',
      'warning as_it_began 7:42',
    ]);
  });

  it('may read it where something else starts it, too, or where it leads nobody', async () => {
    const trigger = 'trigger: { type: metadata_match, conditions: { status: B } }\n';
    expect(await said(`workflow: w\n${FIELDS}`, trigger + MACHINE)).toEqual([]);
    expect(await said(FIELDS, MACHINE)).toEqual([]);
  });

  it('may read metadata that a session takes over from others, and variables', async () => {
    const kept = FIELDS.replace('{ fields', '{ scope: agent, fields');
    expect(await said(`workflow: w\n${kept}`, MACHINE)).toEqual(['warning as_it_began 6:48']);
    const steps = 'steps: [{ name: s, type: notify, message: "${agent.agent_name}", if: "vars.x == 1" }]\n';
    expect(await said('workflow: w\n', `context_variables: { runtime: [{ name: x }] }\n${steps}`)).toEqual(
      [],
    );
  });
});

describe('an artifact that decides for an agent', () => {
  const steps = `steps:
  - { name: s, type: task, prompt: x, verify: { invoke: judge, method: m, fallback: retry } }
  - { name: ask, type: approval, prompt: x, if: { invoke: judge, method: m, fallback: true } }
  - { name: free, type: notify, message: x, if: { invoke: judge, method: m, fallback: true } }
  - { name: dice, type: approval, prompt: x, if: { invoke: genesis_random_decider, method: decide, args: [1], fallback: true } }
---
kind: Artifact
name: judge
source: "export const m = () => true;"
methods: { m: {} }
`;
  const hooks =
    'hooks: { before_action: [{ invoke: genesis_random_decider, method: decide, fallback: true }, { invoke: judge, method: m, fallback: true }] }\n';
  const agent = (may: string) => `permissions: { artifacts: ${may} }\n${hooks}`;

  it('is a warning where the agent may rewrite it: a verifier, an approval, a guard of actions', async () => {
    const found = await said(agent('[read, write]'), steps);
    expect(found.filter((line) => line.includes('model_controlled'))).toEqual([
      'warning model_controlled 6:104',
      'warning model_controlled 4:57',
      'warning model_controlled 5:59',
    ]);
  });

  it('is none where it may only read', async () => {
    const found = await said(agent('[read]'), steps);
    expect(found.filter((line) => line.includes('model_controlled'))).toEqual([]);
  });
});
