import { describe, expect, it } from 'vitest';
import { loadManifests } from '../../src/manifest/load-manifests.ts';
import { temporaryProject } from './temporary-project.ts';

const AGENT = 'kind: Agent\nname: a\n';

async function said(files: Record<string, string>): Promise<readonly string[]> {
  const cwd = temporaryProject({ 'package.json': '{}', ...files });
  const { diagnostics } = await loadManifests(['a.yml'], { env: {}, cwd });
  return diagnostics.map(({ severity, code, line, column }) => `${severity} ${code} ${line}:${column}`);
}

describe('a file that only a run opens', () => {
  const tool = (module: string) => `kind: Tool\nname: t\nimplementation: { module: ${module} }\n`;

  it('may be missing until it is built: a warning', async () => {
    expect(await said({ 'a.yml': tool('./x.ts') })).toEqual(['warning file_missing 3:27']);
    expect(await said({ 'a.yml': tool('./x.ts'), 'x.ts': '' })).toEqual([]);
    expect(await said({ 'a.yml': `${AGENT}model: scripted:./t.yml\n` })).toEqual([
      'warning file_missing 3:8',
    ]);
    expect(await said({ 'a.yml': tool('some-package') })).toEqual([]);
  });

  it('may not lie outside the project', async () => {
    expect(await said({ 'a.yml': tool('../../x.ts') })).toEqual(['error outside_project 3:27']);
    expect(await said({ 'a.yml': `${AGENT}models: { f: "scripted:/etc/passwd" }\n` })).toEqual([
      'error outside_project 3:14',
    ]);
  });
});

describe('"expose"', () => {
  it('warns of agents that nobody defines; a parent need not be imported', async () => {
    const files = {
      'a.yml': `${AGENT}context_variables:\n  runtime: [{ name: x, expose: [b, a, nobody] }]\nimport: { agents: [./b.yml] }\n`,
      'b.yml': 'kind: Agent\nname: b\ncontext_variables: { runtime: [{ name: q, expose: [a] }] }\n',
    };
    expect(await said(files)).toEqual(['warning unknown_agent 4:39']);
  });
});

describe('a short name of a model in a workflow', () => {
  it('must be one of its agent', async () => {
    const workflow =
      'kind: Workflow\nname: w\nsteps:\n  - { name: s, type: llm, prompt: hi, model: fsat }\n  - { name: k, type: task, prompt: x, verify: { model: fast, instructions: x } }\n';
    const agent = `${AGENT}models: { fast: x/y }\nimport: { workflows: [./w.yml] }\n`;
    expect(await said({ 'a.yml': agent, 'w.yml': workflow })).toEqual(['error unknown_model 4:46']);
  });
});

describe('the channel that a step of type notify names', () => {
  const workflow = 'kind: Workflow\nname: w\nsteps:\n  - { name: s, type: notify, message: hi, to: opps }\n';
  const channels = 'notifications: { channels: { ops: { command: [mail] } } }\n';
  const files = (agent: string, steps = workflow) => ({
    'a.yml': `${AGENT}${agent}import: { workflows: [./w.yml] }\n`,
    'w.yml': steps,
  });

  it('is a warning where its agent has others: then all of them are told', async () => {
    expect(await said(files(channels))).toEqual(['warning unknown_channel 4:47']);
    expect(await said(files(channels, workflow.replace('opps', 'ops')))).toEqual([]);
    expect(await said(files(channels, workflow.replace('opps', '"${input.whom}"')))).toEqual([]);
  });

  it('is a word on the log where its agent has none', async () => {
    expect(await said(files(''))).toEqual([]);
  });
});

describe('two MCP servers of one name', () => {
  it('are one error, not two', async () => {
    const server = '{ mcp: { name: g, command: x } }';
    expect(await said({ 'a.yml': `${AGENT}import: { tools: [${server}, ${server}] }\n` })).toEqual([
      'error duplicate 3:68',
    ]);
  });
});

describe('the evidence of a task', () => {
  const workflow = (step: string) =>
    `kind: Workflow\nname: w\nsteps:\n  - { name: s, type: task, prompt: x, ${step} }\n`;
  const tool = (name: string) => `kind: Tool\nname: ${name}\nimplementation: { script: "1" }\n`;
  const agent = `${AGENT}import: { tools: [./t.yml, "builtin:git"], workflows: [./w.yml], agents: [./b.yml] }\n`;
  const files = (step: string, of = agent) => ({
    'a.yml': of,
    't.yml': tool('run_tests'),
    'b.yml': 'kind: Agent\nname: b\nimport: { tools: [./u.yml] }\n',
    'u.yml': tool('deploy'),
    'w.yml': workflow(step),
  });

  it('is something that who works on it can call: its own agent, or the one that imports it', async () => {
    expect(await said(files('evidence: [run_tests, git_log, b, w]'))).toEqual([]);
    expect(await said(files('evidence: [run_test]'))).toEqual(['error unknown_target 4:50']);
    expect(await said(files('agent: b, evidence: [deploy]'))).toEqual([]);
    expect(await said(files('agent: b, evidence: [run_tests]'))).toEqual(['error unknown_target 4:60']);
  });

  it('is warned of where a server may yet bring it, or nobody is known to work on it', async () => {
    const served = agent.replace('[./t.yml,', '[./t.yml, { mcp: { name: hub, command: x } },');
    expect(await said(files('evidence: [hub_open_issue]', served))).toEqual([]);
    expect(await said(files('evidence: [rn_checks]', served))).toEqual(['warning unknown_target 4:50']);
    expect(await said({ 'a.yml': workflow('evidence: [deploy, git]') })).toEqual([
      'warning unknown_target 4:50',
    ]);
  });
});

describe('what a task requires', () => {
  it('is no variable of its agent that a model may not write', async () => {
    const agent = (writers: string) =>
      `${AGENT}context_variables: { runtime: [{ name: approved, writers: [${writers}] }] }\nimport: { workflows: [./w.yml] }\n`;
    const workflow =
      'kind: Workflow\nname: w\nsteps:\n  - { name: s, type: task, prompt: x, requires: { approved: { type: boolean } } }\n';
    expect(await said({ 'a.yml': agent('user'), 'w.yml': workflow })).toEqual(['error not_writable 4:51']);
    expect(await said({ 'a.yml': agent('model, user'), 'w.yml': workflow })).toEqual([]);
  });
});

describe('the artifact of a verifier', () => {
  it('is looked for as every other: one that is not there yet is a warning', async () => {
    const workflow =
      'kind: Workflow\nname: w\nsteps:\n  - { name: s, type: task, prompt: x, verify: { invoke: judge, method: look, fallback: retry } }\n';
    expect(await said({ 'a.yml': `${AGENT}import: { workflows: [./w.yml] }\n`, 'w.yml': workflow })).toEqual([
      'warning unknown_artifact 4:57',
    ]);
  });
});

describe('an agent that "handoff" or "group" names', () => {
  it('must be imported or stand in the same file', async () => {
    const b = 'kind: Agent\nname: billing\n';
    const files = (keys: string) => ({
      'a.yml': `${AGENT}${keys}import: { agents: [./b.yml] }\n`,
      'b.yml': b,
    });
    expect(await said(files('handoff: [billing, { to: user, always: true }]\n'))).toEqual([]);
    expect(await said(files('handoff: [biling]\n'))).toEqual(['error unknown_agent 3:11']);
    expect(await said(files('group: { agents: [a, biling] }\n'))).toEqual(['error unknown_agent 3:22']);
  });
});
