import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { main } from '../../../src/cli/main.ts';
import type { Entry } from '../../../src/importers/report.ts';
import { temporaryProject } from '../../manifest/temporary-project.ts';
import { recordedIo } from '../recorded-io.ts';
import { silentMaps } from './unknown-keys.ts';

async function cli(cwd: string, ...argv: readonly string[]) {
  const io = recordedIo({ cwd });
  const code = await main(argv, io);
  return { code, out: io.out(), err: io.err() };
}

async function imported(files: Readonly<Record<string, string>>, ...argv: readonly string[]) {
  const cwd = temporaryProject({ 'package.json': '{}', ...files });
  const { code, out } = await cli(cwd, 'import', 'agent-ecology', '--out', 'made', '--json', ...argv);
  const report = JSON.parse(out) as {
    files: { ok: boolean; agent?: string; artifact?: string; entries?: readonly Entry[] }[];
  };
  const manifest = (path: string) => parse(readFileSync(join(cwd, 'made', path), 'utf8'));
  return {
    cwd,
    code,
    report: report.files,
    entries: report.files.flatMap((each) => each.entries ?? []),
    manifest,
  };
}

const COMPLETE =
  '<action type="internal">{"name": "complete_step", "parameters": {"notes": "I looked around, chose one thing to do and did that one thing."}}</action>';

/** Has the agents of a folder answer in turn with these texts. */
const script = (cwd: string, text: string) =>
  writeFileSync(join(cwd, 'made/turns.yml'), JSON.stringify({ loop: true, turns: [{ text }] }));

const agent = (workflow: string, more = '') => `
id: smith
enabled: false
llm_model: "gemini/gemini-2.0-flash"
starting_credits: 40
genotype: { risk_tolerance: HIGH, primary_strategy: BUILD }
surprise_agent: 1
${more}
workflow:
  surprise_workflow: 1
${workflow}
error_handling: { default_on_failure: retry, max_retries: 2 }
`;

const MACHINE = `
  state_machine:
    states: [looking, making, judging, resting]
    initial_state: looking
    surprise_machine: 1
    transitions:
      - { from: looking, to: making, condition: "balance >= 10 and not tired" }
      - { from: making, to: judging }
      - { from: judging, to: making }
      - { from: "*", to: looking }
  steps:
    - name: look
      type: llm
      in_state: looking
      prompt: 'You are {agent_id} with {balance:+.0f} coins, $ {tick}. Write {{"action_type": "noop"}} or {...}.'
      transition_to: making
      surprise_step: 1
    - { name: make, type: llm, in_state: [making], prompt: "Make it.", transition_to: judging, on_failure: skip }
    - { name: give_up, type: transition, in_state: judging, run_if: "fails > 3", transition_to: looking }
    - name: judge
      type: transition
      in_state: judging
      transition_source: { invoke: critic, method: decide, args: ["{agent_id}"], fallback: again }
      transition_map: { again: making, done: looking }
`;

const COMPONENT = `
name: thrift
type: behavior
version: 1
inject_into: [make, { step: look, if: { invoke: critic, method: is_poor, fallback: true } }, elsewhere]
prompt_fragment: "Spend little, {agent_id}."
surprise_component: 1
`;

describe('telltale import agent-ecology', () => {
  it('turns a state machine into a workflow that leads the agent, with its components, and it runs', async () => {
    const { cwd, code, manifest } = await imported(
      {
        'agents/smith/agent.yaml': agent(MACHINE, 'components: { behaviors: [thrift], goals: [] }'),
        'agents/smith/system_prompt.md': 'You forge things for ${price}.',
        'agents/_components/behaviors/thrift.yaml': COMPONENT,
      },
      'agents/smith/agent.yaml',
    );
    expect(code).toBe(0);
    expect(manifest('smith.yml')).toMatchObject({
      model: 'google/gemini-2.0-flash',
      workflow: 'smith_workflow',
      budget: { balance: 40, costs: { turn: 0 } },
      components: [
        {
          name: 'thrift',
          prompt: 'Spend little, ${vars.agent_id}.',
          inject_into: [
            'make',
            { step: 'look', if: { invoke: 'critic', method: 'is_poor', fallback: true } },
          ],
        },
      ],
    });
    const { instructions } = manifest('smith.yml');
    expect(instructions).toContain('You forge things for $${price}.');
    expect(instructions).toContain('- risk tolerance: high');
    const { states, initial, context_variables } = manifest('smith/workflow.yml');
    expect(initial).toBe('looking');
    expect(Object.keys(states)).toEqual(['looking', 'making', 'judging', 'finished']);
    expect(states.looking.steps[1]).toEqual({
      name: 'look',
      type: 'task',
      prompt:
        'You are ${vars.agent_id} with ${vars.balance} coins, $ ${vars.tick}. Write {"action_type": "noop"} or {...}.',
      retry: 2,
    });
    expect(states.looking.transitions).toEqual([
      { to: 'finished', condition: 'vars.tick > vars.max_ticks' },
      { to: 'making', condition: 'vars.balance >= 10 && !(vars.tired)' },
      { to: 'looking' },
    ]);
    expect(states.making.steps[1]).toMatchObject({ name: 'make', on_error: 'continue' });
    expect(states.judging.steps[1]).toMatchObject({
      type: 'transition',
      transition_source: {
        invoke: 'critic',
        method: 'decide',
        args: ['${vars.agent_id}'],
        fallback: 'again',
      },
      transition_map: { again: 'making', done: 'looking' },
    });
    expect(states.judging.transitions[1]).toEqual({ to: 'looking', condition: 'vars.fails > 3' });
    expect(context_variables.runtime).toContainEqual({ name: 'balance', type: 'any', default: 40 });
    script(cwd, COMPLETE);
    const path = join(cwd, 'made/smith/workflow.yml');
    writeFileSync(path, readFileSync(path, 'utf8').replace(/(name: max_ticks[\s\S]*?default: )10/, '$11'));
    const run = await cli(
      cwd,
      'run',
      'made/smith.yml',
      'Begin.',
      '--model',
      'scripted:./turns.yml',
      '--store',
      'memory',
    );
    expect(run).toMatchObject({ code: 0, out: expect.stringContaining('completed') });
  });

  it('makes a stub of Python code, which fails when it runs and says what to port', async () => {
    const steps = `
  steps:
    - { name: count, type: code, code: "rich = balance > 10\\nleft = len(my_artifacts)" }
    - { name: decide, type: llm, prompt: "Rich: {rich}" }
`;
    const { cwd, code, entries, manifest } = await imported({ 'agent.yaml': agent(steps) }, 'agent.yaml');
    expect(code).toBe(0);
    expect(entries).toContainEqual(
      expect.objectContaining({
        step: 'step count',
        construct: 'code',
        outcome: 'changed',
        how: 'Python code is not converted: port it to JavaScript, with set_variable behind it. It sets rich, left.',
      }),
    );
    expect(manifest('smith/workflow.yml').steps[1].prompt).toBe('Rich: ${vars.rich}');
    script(cwd, COMPLETE);
    const run = await cli(
      cwd,
      'run',
      'made/smith.yml',
      'Begin.',
      '--model',
      'scripted:./turns.yml',
      '--store',
      'memory',
    );
    expect(run.code).not.toBe(0);
    expect(run.out).toContain('The Python code of the step count is not ported yet. It sets rich, left.');
  });

  it('reports every key, also those that it does not know', async () => {
    const files = {
      'agents/smith/agent.yaml': agent(MACHINE, 'components: { behaviors: [thrift, ghost] }'),
      'agents/thrift.yaml': COMPONENT,
    };
    const { entries } = await imported(files, 'agents');
    const left = entries.filter(({ outcome }) => outcome === 'left').map(({ construct }) => construct);
    for (const key of ['agent', 'workflow', 'machine', 'step', 'component'])
      expect(
        left.some((construct) => construct.endsWith(`surprise_${key}`)),
        key,
      ).toBe(true);
    const told = entries.map(({ construct, how }) => `${construct}: ${how}`);
    expect(told).toContain('components.behaviors: ghost.yaml was not found');
    expect(told).toContain('prompt_fragment: a component of smith');
    expect(told).toContain('workflow.state_machine.states (resting): no step leads there');
    expect(told).toContain('prompt: {name} is a variable; formats are dropped: {balance:+.0f}');
  });

  it('drops no unknown key silently, in whatever map of a file it is', async () => {
    const smith = {
      'agents/smith/agent.yaml': agent(MACHINE, 'components: { behaviors: [thrift], goals: [] }'),
      'agents/_components/behaviors/thrift.yaml': COMPONENT,
    };
    expect(await silentMaps('agent-ecology', smith, Object.keys(smith))).toEqual([]);
    const files = Object.keys(GENESIS).filter((file) => file.endsWith('.yaml'));
    expect(await silentMaps('agent-ecology', GENESIS, files)).toEqual([]);
  }, 120_000);

  const GENESIS = {
    'genesis/agents/sage/agent.yaml': `
id: sage
enabled: true
artifacts:
  - { id: sage_strategy, type: text, content_file: strategy.md, access_contract_id: open }
  - { id: sage_state, type: json, content_file: state.json, state: { writer: sage_loop, surprise_state: 1 } }
  - { id: sage_tool, type: executable, code_file: tool.py, executable: true, content: { description: Adds. } }
  - { id: sage_loop, type: executable, code_file: loop.py, has_loop: true, capabilities: [can_call_llm], surprise_artifact: 1 }
principal: { id: sage_loop, starting_scrip: 100, starting_llm_budget: 2.0, disk_quota: 10, surprise_principal: 1 }
`,
    'genesis/agents/sage/strategy.md': 'Think before you act.',
    'genesis/agents/sage/state.json': '{"model": "gemini/gemini-2.5-flash", "queue": ["${x}"]}',
    'genesis/agents/sage/tool.py': 'def run(a: int, b: int = 1):\n    return a + b\n',
    'genesis/agents/sage/loop.py':
      'def run():\n    kernel_actions.write_artifact("x", _syscall_llm("m", []))\n',
    'genesis/artifacts/book.yaml':
      'id: book\nsource_dir: docs/book\nfile_pattern: "*.md"\nid_prefix: book_\nid_mapping: { _index: contents }\n',
    'docs/book/_index.md': '# Contents',
    'docs/book/trade.md': '# Trade',
    'profiles/seeker.yaml':
      'motivation: { telos: { name: Know, prompt: Find out. }, drives: { care: { prompt: Be kind. } }, surprise_profile: 1 }',
  };

  it('makes an agent with artifacts of a cluster, and stubs of its loop and its tools', async () => {
    const { cwd, code, report, entries, manifest } = await imported(GENESIS, 'genesis', 'profiles');
    expect(code).toBe(0);
    expect(report.map(({ agent: made, artifact }) => made ?? artifact)).toEqual([
      'sage',
      'book',
      'motivation_seeker',
    ]);
    expect(manifest('sage.yml')).toMatchObject({
      model: 'google/gemini-2.5-flash',
      instructions: expect.stringMatching(/^Think before you act\.[\s\S]*`sage_state`/),
      limits: { cost_usd: 2 },
      budget: { balance: 100 },
      permissions: { artifacts: ['read', 'write'] },
    });
    expect(manifest('sage/sage_state.yml').source).toContain('"queue": ["$${x}"]');
    expect(manifest('sage/sage_tool.yml')).toMatchObject({
      kind: 'Tool',
      description: 'Adds.',
      parameters: { properties: { a: { type: 'integer' }, b: { type: 'integer' } }, required: ['a'] },
    });
    expect([manifest('book/contents.yml').source, manifest('book/book_trade.yml').source]).toEqual([
      '# Contents',
      '# Trade',
    ]);
    expect(manifest('motivation_seeker.yml').source).toBe(
      '## Your purpose\nname: Know\nFind out.\n\n## Your drive: care\nBe kind.',
    );
    expect(entries.map(({ how }) => how)).toContain(
      'Python code is not converted: port loop.py (2 lines, run); it calls _syscall_llm, kernel_actions.write_artifact',
    );
    for (const key of ['state', 'artifact', 'principal', 'profile'])
      expect(
        entries.some(({ construct, outcome }) => construct.endsWith(`surprise_${key}`) && outcome === 'left'),
        key,
      ).toBe(true);
    script(cwd, '<response>Done.</response>');
    const model = ['--model', 'scripted:./turns.yml', '--store', 'memory'];
    expect(await cli(cwd, 'run', 'made/sage.yml', 'Begin.', ...model)).toMatchObject({ code: 0 });
    const loop = await cli(cwd, 'workflow', 'run', 'made/sage.yml', 'sage_loop', '--store', 'memory');
    expect(loop.code).not.toBe(0);
    expect(loop.out).toContain('The loop sage_loop is not ported yet: loop.py (2 lines, run)');
  });

  it('refuses a manifest whose folder is missing, and a file of something else', async () => {
    const files = { 'book.yaml': 'id: book\nsource_dir: gone\n', 'other.yaml': 'services: {}\n' };
    const { code, report } = await imported(files, 'book.yaml', 'other.yaml');
    expect(code).toBe(2);
    expect(report.map(({ ok }) => ok)).toEqual([false, false]);
  });
});
