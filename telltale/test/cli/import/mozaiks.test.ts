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
  const { code, out } = await cli(cwd, 'import', 'mozaiks', '--out', 'made', '--json', ...argv);
  const report = JSON.parse(out) as { files: { ok: boolean; agent?: string; entries?: readonly Entry[] }[] };
  const manifest = (path: string) => parse(readFileSync(join(cwd, 'made', path), 'utf8'));
  return {
    cwd,
    code,
    report: report.files,
    entries: report.files.flatMap((each) => each.entries ?? []),
    manifest,
  };
}

const SHOP = {
  'shop/orchestrator.yaml': `
workflow_name: Shop
max_turns: 12
human_in_the_loop: true
startup_mode: AgentDriven
orchestration_pattern: DefaultPattern
initial_agent: Greeter
initial_message: Say hello.
surprise_orchestrator: 1
`,
  'shop/agents.yaml': `
agents:
- name: Greeter
  display_name: Front desk
  prompt_sections:
  - { id: role, heading: "[ROLE]", content: "Find out what they want. It costs \${5}.", surprise_section: 1 }
  - { id: end, heading: "[OUTPUT]", content: Say NEXT when you know. }
  max_consecutive_auto_reply: 5
  surprise_agent: 1
- name: Painter
  system_message: You mix paint.
  structured_outputs_required: true
`,
  'shop/handoffs.yaml': `
handoff_rules:
- { source_agent: Greeter, target_agent: user, handoff_type: after_work, transition_target: RevertToUserTarget }
- { source_agent: Greeter, target_agent: Painter, handoff_type: condition, condition_type: expression,
    condition: "\${ready} == True and not \${closed}", surprise_rule: 1 }
- { source_agent: Painter, target_agent: Greeter, handoff_type: condition, condition: They want something else. }
- { source_agent: Painter, target_agent: Ghost, handoff_type: after_work }
- { source_agent: Painter, target_agent: TERMINATE, handoff_type: condition, condition_type: expression,
    condition_scope: pre, condition: "len(\${colors}) > 3" }
- { source_agent: user, target_agent: Greeter, handoff_type: condition, condition: "\${ready} == False" }
`,
  'shop/context_variables.json': JSON.stringify({
    context_variables: {
      definitions: {
        ready: {
          type: 'boolean',
          description: 'They said what they want.',
          surprise_variable: 1,
          source: {
            type: 'state',
            default: false,
            triggers: [
              {
                type: 'agent_text',
                agent: 'Greeter',
                match: { equals: 'NEXT' },
                ui_hidden: true,
                surprise_trigger: 1,
              },
            ],
          },
        },
        color: {
          type: 'string',
          source: {
            type: 'state',
            triggers: [{ type: 'ui_response', tool: 'pick_color', response_key: 'choice' }],
          },
        },
        colors: { type: 'list', source: { type: 'database', collection: 'Colors', search_by: 'user_id' } },
        key: { type: 'string', source: { type: 'config', env_var: 'SHOP_KEY', default: 'none' } },
      },
      agents: { Greeter: { variables: ['ready'] }, Painter: { variables: ['ready', 'color'] } },
    },
  }),
  'shop/tools.yaml': `
tools:
- agent: Painter
  file: pick_color.py
  function: pick_color
  description: Asks for a color.
  tool_type: UI_Tool
  auto_invoke: true
  ui: { component: ColorCard, mode: inline }
  surprise_tool: 1
lifecycle_tools:
- { trigger: before_agent, agent: Painter, file: warm.py, function: warm }
`,
  'shop/tools/pick_color.py': `
async def pick_color(
    shades: list[str],
    limit: int = 3,
    note: Annotated[Optional[str], "A remark, if any"] = None,
    context_variables: Any = None,
) -> dict:
    return {}
`,
  'shop/structured_outputs.json': JSON.stringify({
    structured_outputs: {
      models: {
        Mix: {
          type: 'model',
          fields: {
            parts: { type: 'list', items: 'Part' },
            finish: { type: 'literal', values: ['matt', 'gloss'] },
            note: { type: 'union', variants: ['str', 'null'] },
          },
        },
        Part: {
          type: 'model',
          fields: { color: { type: 'str', description: 'Its name.' }, grams: { type: 'int' } },
        },
      },
      registry: { Painter: 'Mix', Greeter: null },
    },
  }),
  'shop/_pack/workflow_graph.json': '{"version": 3, "mid_flight_journeys": []}',
};

describe('telltale import mozaiks', () => {
  it('makes a group of the agents of a workflow, and the result validates', async () => {
    const { cwd, code, report, manifest } = await imported(SHOP, 'shop');
    expect(code).toBe(0);
    expect(report).toMatchObject([{ ok: true, agent: 'Shop' }]);
    expect(manifest('Shop.yml')).toMatchObject({
      kind: 'Agent',
      limits: { handoffs: 12 },
      group: {
        agents: ['Greeter', 'Painter'],
        start: 'Greeter',
        next_speaker: 'user',
        on_message: [{ to: 'Greeter', if: 'vars.ready == false' }],
      },
      examples: ['Say hello.'],
    });
    const greeter = manifest('Shop/Greeter.yml');
    expect(greeter).toMatchObject({
      description: 'Front desk',
      instructions: '[ROLE]\nFind out what they want. It costs $${5}.\n\n[OUTPUT]\nSay NEXT when you know.',
      handoff: [
        { to: 'Painter', if: 'vars.ready == true && !(!(vars.closed in [null, false, 0, "", []]))' },
        { to: 'user', always: true },
      ],
    });
    const painter = manifest('Shop/Painter.yml');
    expect(painter.handoff).toEqual([
      { to: 'Greeter', when: 'They want something else.' },
      { to: 'end', if: 'size(vars.colors) > 3', at: 'before_turn' },
    ]);
    expect(painter.output.schema).toEqual({
      type: 'object',
      properties: {
        parts: {
          type: 'array',
          items: {
            type: 'object',
            properties: { color: { type: 'string', description: 'Its name.' }, grams: { type: 'integer' } },
            required: ['color', 'grams'],
          },
        },
        finish: { enum: ['matt', 'gloss'] },
        note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      },
      required: ['parts', 'finish'],
    });
    expect(painter.context_variables).toMatchObject({
      defined: [{ name: 'colors', type: 'any', key: 'user', expose: [], default: null }],
      runtime: [
        { name: 'key', default: '${SHOP_KEY:-none}', writers: ['user', 'workflow'] },
        { name: 'closed', type: 'any', default: null },
      ],
      derived: [
        {
          name: 'ready',
          expose: ['Greeter', 'Painter'],
          default: false,
          triggers: [{ type: 'agent_text', agent: 'Greeter', match: { equals: 'NEXT' } }],
        },
        { name: 'color', triggers: [{ type: 'function', artifact: 'Shop_responses', method: 'color' }] },
      ],
    });
    expect(manifest('Shop/tools/pick_color.yml').parameters).toEqual({
      type: 'object',
      properties: {
        shades: { type: 'array' },
        limit: { type: 'integer' },
        note: { type: 'string', description: 'A remark, if any' },
      },
      required: ['shades'],
    });
    expect(await cli(cwd, 'validate', 'made/Shop.yml')).toMatchObject({ code: 0 });
  });

  it('reports every key, also those that it does not know', async () => {
    const { entries } = await imported(SHOP, 'shop');
    const left = entries.filter(({ outcome }) => outcome === 'left').map(({ construct }) => construct);
    for (const key of ['orchestrator', 'section', 'agent', 'rule', 'variable', 'tool'])
      expect(left).toContain(`surprise_${key}`);
    expect(left.join()).toContain('surprise_trigger');
    expect(entries).toContainEqual(
      expect.objectContaining({ construct: 'ui_hidden', outcome: 'left', step: 'variable ready' }),
    );
    expect(entries).toContainEqual(
      expect.objectContaining({
        construct: 'trigger',
        outcome: 'left',
        how: 'Python code is not converted: port warm.py, function warm as the hook "before_turn"',
        file: 'shop/tools.yaml',
        line: 12,
      }),
    );
    expect(entries.find(({ how }) => how.includes('Ghost'))).toMatchObject({
      construct: 'target_agent',
      outcome: 'left',
    });
  });

  it('drops no unknown key silently, in whatever map of a file it is', async () => {
    const files = Object.keys(SHOP).filter((file) => /\.(yaml|json)$/.test(file));
    expect(await silentMaps('mozaiks', SHOP, files)).toEqual([]);
  }, 120_000);

  it('hands over on the text of an agent, fails in a tool that is not ported, and reads its answer once it is', async () => {
    const { cwd } = await imported(SHOP, 'shop');
    const call =
      '<action id="c" type="tool" mode="sync">{"name": "pick_color", "parameters": {"shades": ["red"]}}</action>';
    const answer = '<response>{"parts": [], "finish": "matt", "note": null}</response>';
    const scripts = { Greeter: ['<response>NEXT</response>'], Painter: [call, answer] };
    for (const [agent, texts] of Object.entries(scripts)) {
      const turns = JSON.stringify({ turns: texts.map((text) => ({ text })) });
      writeFileSync(join(cwd, `made/Shop/${agent}.turns.yml`), turns);
      const path = join(cwd, `made/Shop/${agent}.yml`);
      const manifest = readFileSync(path, 'utf8');
      writeFileSync(path, manifest.replace(/^model: .*$/m, `model: scripted:./${agent}.turns.yml`));
    }
    const run = (agent: string) =>
      cli(cwd, 'run', `made/Shop/${agent}.yml`, 'Hello', '--store', 'memory', '--events');
    expect((await run('Greeter')).out).toContain('"type":"handoff"');
    const stub = 'The tool pick_color is not ported yet: pick_color.py, function pick_color.';
    expect((await run('Painter')).out).toContain(stub);
    const tool = join(cwd, 'made/Shop/tools/pick_color.yml');
    const ported = readFileSync(tool, 'utf8').replace(
      /script: .*/,
      `script: "({ choice: parameters.shades[0] })"`,
    );
    writeFileSync(tool, ported);
    const { out } = await run('Painter');
    const changes = out
      .split('\n')
      .filter((line) => line.includes('"variable.changed"') && line.includes('"color"'));
    expect(changes.join()).toContain('"red"');
  });

  it.each([
    [
      'a list under "variables"',
      { variables: [{ name: 'a', type: 'int', default: 3 }] },
      { runtime: [{ name: 'a', type: 'number', default: 3 }] },
    ],
    [
      'a list under "context_variables"',
      { context_variables: [{ name: 'a', type: 'string', default: null }] },
      { runtime: [{ name: 'a', type: 'string' }] },
    ],
    [
      '"init" as source code',
      { variables: [{ name: 'a', var_type: 'state', init: "'on'" }] },
      { runtime: [{ name: 'a', type: 'any', default: 'on' }] },
    ],
    [
      '"database_variables"',
      {
        database_variables: [
          { name: 'a', type: 'string', database: { collection: 'C', search_by: 'app_id', field: 'F' } },
        ],
      },
      { defined: [{ name: 'a', type: 'string', key: 'agent' }] },
    ],
    [
      '"derived_variables" with "trigger_type"',
      {
        derived_variables: [
          {
            name: 'a',
            trigger_type: 'agent_text_equals',
            source_agent: 'Bot',
            trigger_value: 'NEXT',
            ui_hidden: true,
          },
        ],
      },
      {
        derived: [{ name: 'a', triggers: [{ type: 'agent_text', agent: 'Bot', match: { equals: 'NEXT' } }] }],
      },
    ],
    [
      '"derived_variables" with "type" and a pattern',
      {
        derived_variables: [
          { name: 'a', type: 'boolean', triggers: [{ type: 'agent_text', agent: 'Bot', regex: 'ne+xt' }] },
        ],
      },
      {
        derived: [
          { name: 'a', triggers: [{ type: 'agent_text', agent: 'Bot', match: { matches: '(?i)ne+xt' } }] },
        ],
      },
    ],
    [
      'transitions of a state',
      {
        definitions: {
          a: {
            type: 'string',
            source: {
              type: 'state',
              default: 'pending',
              transitions: [
                {
                  from: 'pending',
                  to: 'approved',
                  trigger: { type: 'ui_response', tool: 'ask', response_key: 'answer' },
                },
              ],
            },
          },
        },
      },
      {
        derived: [
          {
            name: 'a',
            default: 'pending',
            triggers: [
              { type: 'tool_response', tool: 'ask', match: { answer: 'approved' }, set: 'approved' },
            ],
          },
        ],
      },
    ],
  ])('reads variables written as %s', async (_, variables, expected) => {
    const agents = '{"agents": {"Bot": {"system_message": "You chat."}}}';
    const tools = '{"tools": [{"agent": "Bot", "file": "ask.py", "function": "ask"}]}';
    const files = {
      'bot/tools.json': tools,
      'bot/agents.json': agents,
      'bot/context_variables.json': JSON.stringify(variables),
    };
    const { code, manifest } = await imported(files, 'bot');
    expect(code).toBe(0);
    expect(manifest('bot/Bot.yml').context_variables).toEqual(expected);
  });

  it('reads a file with all documents of a workflow, and handoffs of the older forms', async () => {
    const file = `
PatternSelection: { pattern: 1 }
---
workflow_name: Pair
initial_agent: One
orchestration_pattern: RoundRobinPattern
human_in_the_loop: false
---
agents: [{ name: One, system_message: A }, { name: Two, system_message: B }]
---
handoff_rules: []
handoffs:
- { from_agent: One, to_agent: Two, condition: They ask for two }
- { source: Two, targets: [{ agent: One, condition: "\${n} >= 2", condition_type: expression }] }
---
ContextVariablesPlan: { definitions: [{ name: n, type: number, source: { type: static, value: 1 } }] }
`;
    const { code, manifest, entries } = await imported({ 'pair.yaml': file }, 'pair.yaml');
    expect(code).toBe(0);
    expect(manifest('Pair.yml').group).toEqual({
      agents: ['One', 'Two'],
      start: 'One',
      next_speaker: 'round_robin',
    });
    expect(manifest('Pair/One.yml').handoff).toEqual([{ to: 'Two', when: 'They ask for two' }]);
    expect(manifest('Pair/Two.yml').handoff).toEqual([{ to: 'One', if: 'vars.n >= 2' }]);
    expect(entries).toContainEqual(
      expect.objectContaining({ construct: 'PatternSelection', outcome: 'left' }),
    );
  });

  it('makes a context_variables.json of variables alone, and refuses what holds neither agents nor variables', async () => {
    const files = {
      'a/context_variables.yaml': 'definitions: [{ name: n, type: number }]',
      'b/tools.yaml': 'tools: []',
    };
    const { code, report, manifest } = await imported(files, 'a', 'b');
    expect(code).toBe(2);
    expect(report.map(({ ok }) => ok)).toEqual([true, false]);
    expect(manifest('a/context_variables.json').context_variables.runtime_variables).toEqual([
      { name: 'n', type: 'number' },
    ]);
  });
});
